// Filters show and hide answers; without this script all stand there.
const form = document.getElementById("filters");
const answers = [...document.querySelectorAll("article.item")];
if (form) {
  form.hidden = false;
  const apply = () => {
    const wanted = [...form.querySelectorAll("select")].filter((one) => one.value);
    let shown = 0;
    for (const answer of answers) {
      const fits = wanted.every((one) => {
        const own = answer.dataset[one.name];
        return one.name === "verdict" || one.name === "fault" ? own.split(" ").includes(one.value) : own === one.value;
      });
      answer.hidden = !fits;
      shown += fits;
    }
    document.getElementById("shown").textContent = `${shown} / ${answers.length}`;
  };
  form.addEventListener("change", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
}
