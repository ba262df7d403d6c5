from .base import Retriever as Retriever
from .base import Tokenizer as Tokenizer
from .base import word_boundary_problem as word_boundary_problem
from .retrievers.array_cache import arrays_are_whole as arrays_are_whole
