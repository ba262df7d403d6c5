from .api import AnalysisReport as AnalysisReport
from .api import AuditReport as AuditReport
from .api import BuildResult as BuildResult
from .api import CheckedRecipe as CheckedRecipe
from .api import CleanedStores as CleanedStores
from .api import ColumnTable as ColumnTable
from .api import ErrataLog as ErrataLog
from .api import EvaluationResult as EvaluationResult
from .api import NewRecipe as NewRecipe
from .api import OpenedBenchmark as OpenedBenchmark
from .api import ProgressEvent as ProgressEvent
from .api import RowTable as RowTable
from .api import RunResult as RunResult
from .api import ScorecardReport as ScorecardReport
from .api import analyse as analyse
from .api import audit as audit
from .api import build as build
from .api import check as check
from .api import clean as clean
from .api import errata as errata
from .api import evaluate as evaluate
from .api import new as new
from .api import open as open
from .api import scorecard as scorecard
from .core import BenchbuilderError as BenchbuilderError

__version__: str
