"""Four languages as data: sources, word lists, relation sentences and rules of our own, for tests alone.

Nobody who speaks them has reviewed the sentences. What matters here are their characters: right-to-left script with
vowel signs and digits of its own (Arabic), no spaces between words and marks above and below letters (Thai), vowel
signs, conjuncts and joiners (Hindi), tone marks and dots below, written apart from their letters (Yoruba).
"""

from __future__ import annotations

import unicodedata
from typing import Any

ZWNJ, ZWJ, RLM = "\u200c", "\u200d", "\u200f"


def _apart(data: Any) -> Any:
    """`data` with marks apart from their letters, as much Yoruba text is typed."""
    if isinstance(data, str):
        return unicodedata.normalize("NFD", data)
    if isinstance(data, dict):
        return {key: _apart(value) for key, value in data.items()}
    return [_apart(part) for part in data]


ARABIC: dict[str, Any] = {
    "code": "ar",
    "apart": False,
    "digit": "١",
    "direction": "rtl",
    "joiner": " ",
    "unit": "words",
    "matching": "words",
    "match": "words",
    "stops": ["؟", "!", "؛"],
    "soft_stops": ["."],
    "stop": ".",
    "mark": "؟",
    "ends": ".؟!",
    "tokenizer": {"kind": "character_ngrams", "shortest": 3, "longest": 4, "within": "words"},
    "fold": ["marks"],
    "seam": " هو",
    "negated": " ليس",
    "negations": ["ليس", r"\bلا\b"],
    "tf": "هل صحيح أن {statement}؟",
    "oe": " هو ماذا؟",
    "word": "الرضيع",
    "words": ["الرضيع", "الحديد", "السكري", "الحَمْل"],
    "questions": [
        ("طفل عمره ٦ أشهر. الغذاء الأول الذي يناسب الرضيع هو", ["حليب الأم", "عصير التفاح", "حليب البقر", "العسل"]),
        ("حامل في الأسبوع ٢٤. الدواء الأول لفقر الدم بعوز الحديد هو", ["الحديد الفموي", "الزنك", "الكالسيوم", "اليود"]),
        ("الجرعة اليومية من الحديد للحامل هو", ["٢٫٥ ملغم", "٢٥ ملغم", "٢٥٠ ملغم", "٩ ملغم"]),
        (
            f"الفحص الأول لسكري الحمل (GDM){RLM} عند الحامل السكري هو",
            ["تحمل الغلوكوز", "تعداد الدم", "تخطيط القلب", "الأشعة"],
        ),
    ],
    "triples": [("سكري الحمل", "عرض", "العطش"), ("السكري", "عرض", "كثرة التبول")],
    "relation": ("عرض", "من أعراض {head} {tail}.", "ليس من أعراض {head} {tail}.", "هل من أعراض {head} {tail}؟"),
    "passages": [
        "حليب الأم هو الغذاء الأول الذي يناسب الرضيع في الأشهر الستة الأولى من عمره.",
        "يُعالَج فقر الدم بعوز الحديد عند الحامل بالحديد الفموي أولا، بجرعة ٢٫٥ ملغم.",
        "يكشف فحص تحمل الغلوكوز سكري الحمل بين الأسبوع ٢٤ والأسبوع ٢٨.",
    ],
    "verdict": ("نعم.", "لا."),
    "ask": "هل الجواب صحيح؟",
    "labels": ["السؤال", "الجواب الصحيح", "الجواب الخاطئ"],
}

THAI: dict[str, Any] = {
    "code": "th",
    "apart": False,
    "digit": "๑",
    "direction": "ltr",
    "joiner": " ",
    "unit": "characters",
    "matching": "characters",
    "match": "contains",
    "stops": ["?", "!"],
    "soft_stops": [],
    "stop": "",
    "mark": "?",
    "ends": "?!",
    "tokenizer": {"kind": "character_ngrams", "shortest": 3, "longest": 5, "within": "text"},
    "fold": [],
    "seam": "คือ",
    "negated": "ไม่ใช่",
    "negations": ["ไม่"],
    "tf": "{statement}ใช่หรือ?",
    "oe": "คืออะไร?",
    "word": "ทารก",
    "words": ["ทารก", "ตั้งครรภ์", "ธาตุเหล็ก", "เบาหวาน"],
    "questions": [
        ("อาหารแรกที่เหมาะสำหรับทารกคือ", ["น้ำนมแม่", "น้ำผึ้ง", "น้ำส้ม", "นมวัว"]),
        ("หญิงตั้งครรภ์มีภาวะซีด! ยาตัวแรกสำหรับโลหิตจางจากการขาดธาตุเหล็กคือ", ["ธาตุเหล็กชนิดกิน", "สังกะสี", "แคลเซียม", "ไอโอดีน"]),
        ("ปริมาณธาตุเหล็กต่อวันสำหรับหญิงตั้งครรภ์คือ", ["๖๐ มิลลิกรัม", "๖ มิลลิกรัม", "๖๐๐ มิลลิกรัม", "๙ มิลลิกรัม"]),
        ("การตรวจแรกสำหรับเบาหวานขณะตั้งครรภ์คือ", ["การทดสอบความทนต่อกลูโคส", "การนับเม็ดเลือด", "คลื่นไฟฟ้าหัวใจ", "เอกซเรย์"]),
    ],
    "triples": [("เบาหวาน", "อาการ", "กระหายน้ำ"), ("ตั้งครรภ์", "อาการ", "คลื่นไส้")],
    "relation": ("อาการ", "อาการของ{head}คือ{tail}", "อาการของ{head}ไม่ใช่{tail}", "อาการของ{head}คือ{tail}หรือ?"),
    "passages": [
        "น้ำนมแม่คืออาหารแรกที่เหมาะสำหรับทารกในหกเดือนแรก",
        "โลหิตจางจากการขาดธาตุเหล็กในหญิงตั้งครรภ์รักษาด้วยธาตุเหล็กชนิดกินวันละ ๖๐ มิลลิกรัม",
        "การทดสอบความทนต่อกลูโคสใช้ตรวจเบาหวานขณะตั้งครรภ์",
    ],
    "verdict": ("ใช่", "ไม่ใช่"),
    "ask": "คำตอบถูกต้องหรือไม่",
    "labels": ["คำถาม", "คำตอบที่ถูก", "คำตอบที่ผิด"],
}

HINDI: dict[str, Any] = {
    "code": "hi",
    "apart": False,
    "digit": "१",
    "direction": "ltr",
    "joiner": " ",
    "unit": "words",
    "matching": "words",
    "match": "words",
    "stops": ["।", "?", "!"],
    "soft_stops": ["."],
    "stop": "।",
    "mark": "?",
    "ends": "।?!",
    "tokenizer": {"kind": "whitespace", "punctuation": "apart"},
    "fold": [],
    "seam": " है",
    "negated": " नहीं है",
    "negations": ["नहीं"],
    "tf": "क्या यह सही है कि {statement}?",
    "oe": " क्या है?",
    "word": "शिशु",
    "words": ["शिशु", "आयरन", "मधुमेह", "गर्भावस्था"],
    "questions": [
        ("बच्चा दो माह का है। शिशु का पहला और सबसे अच्छा आहार है", ["माँ का दूध", "शहद", "संतरे का रस", "गाय का दूध"]),
        ("गर्भावस्था में आयरन की कमी की पहली दवा है", ["आयरन की गोली", "ज़िंक", "कैल्शियम", "आयोडीन"]),
        ("गर्भावस्था में आयरन की रोज़ की मात्रा है", ["६० मि.ग्रा.", "६ मि.ग्रा.", "६०० मि.ग्रा.", "९ मि.ग्रा."]),
        (f"मधुमेह की जाँच में शिशु के राज{ZWJ}य क्{ZWNJ}षेत्र का पहला परीक्षण है", ["ग्लूकोज़ परीक्षण", "रक्त गणना", "ईसीजी", "एक्स-रे"]),
    ],
    "triples": [("मधुमेह", "लक्षण", "प्यास"), ("गर्भावस्था", "लक्षण", "मतली")],
    "relation": (
        "लक्षण",
        "{head} का एक लक्षण {tail} है।",
        "{head} का एक लक्षण {tail} नहीं है।",
        "क्या {head} का एक लक्षण {tail} है?",
    ),
    "passages": [
        "माँ का दूध शिशु का पहला और सबसे अच्छा आहार है।",
        "गर्भावस्था में आयरन की कमी की पहली दवा आयरन की गोली है, रोज़ ६० मि.ग्रा.।",
        f"मधुमेह की जाँच में पहला परीक्षण क्{ZWNJ}षेत्र में ग्लूकोज़ परीक्षण है।",
    ],
    "verdict": (f"स{ZWNJ}ही।", "नहीं।"),
    "ask": "क्या उत्तर सही है?",
    "labels": ["प्रश्न", "सही उत्तर", "गलत उत्तर"],
}

YORUBA: dict[str, Any] = {
    "code": "yo",
    "apart": True,
    "digit": "1",
    "direction": "ltr",
    "joiner": " ",
    "unit": "words",
    "matching": "words",
    "match": "words",
    "stops": ["?", "!"],
    "soft_stops": ["."],
    "stop": ".",
    "mark": "?",
    "ends": ".?!",
    "tokenizer": {"kind": "whitespace", "punctuation": "apart"},
    "fold": ["case", "marks"],
    "seam": " ni",
    "negated": " kì í ṣe",
    "negations": ["kì í ṣe"],
    "tf": "Ṣé òtítọ́ ni pé {statement}?",
    "oe": " ni kí?",
    "word": "ọmọ ọwọ́",
    "words": ["Ọmọ ọwọ́", "ìyá", "irin", "àtọ̀gbẹ"],
    "questions": _apart(
        [
            ("Ìyá kan bí ọmọ. Oúnjẹ àkọ́kọ́ fún ọmọ ọwọ́ ni", ["wàrà ọmú", "oyin", "omi ọsàn", "wàrà màlúù"]),
            ("Oògùn àkọ́kọ́ fún àìtó irin nínú aboyún ni", ["oògùn irin", "síńkì", "kálísíọ́mù", "áyódínì"]),
            ("Ìwọ̀n irin fún aboyún lójúmọ́ ni", ["60 mg", "6 mg", "600 mg", "9 mg"]),
            ("Ìdánwò àkọ́kọ́ fún àtọ̀gbẹ nínú oyún ni", ["ìdánwò glúkósì", "kíka ẹ̀jẹ̀", "àyẹ̀wò ọkàn", "àwòrán"]),
        ]
    ),
    "triples": _apart([("àtọ̀gbẹ", "àmì", "òùngbẹ"), ("irin", "àmì", "àárẹ̀")]),
    "relation": ("àmì", "Àmì {head} ni {tail}.", "Àmì {head} kì í ṣe {tail}.", "Ṣé àmì {head} ni {tail}?"),
    "passages": _apart(
        [
            "Wàrà ọmú ni oúnjẹ àkọ́kọ́ fún ọmọ ọwọ́ ní oṣù mẹ́fà àkọ́kọ́.",
            "Oògùn irin ni oògùn àkọ́kọ́ fún àìtó irin nínú aboyún, 60 mg lójúmọ́.",
            "Ìdánwò glúkósì ni a fi ń mọ àtọ̀gbẹ nínú oyún.",
        ]
    ),
    "verdict": _apart(["Bẹ́ẹ̀ ni.", "Rárá."]),
    "ask": "Ṣé ìdáhùn náà tọ̀nà?",
    "labels": ["Ìbéèrè", "Ìdáhùn tó tọ́", "Ìdáhùn tí kò tọ́"],
}

LANGUAGES = {language["code"]: language for language in (ARABIC, THAI, HINDI, YORUBA)}
