from .base import Retriever as Retriever
from .tokenizers.base import Tokenizer as Tokenizer
from .tokenizers.base import word_boundary_problem as word_boundary_problem
