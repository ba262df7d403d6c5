from .release.items import BenchmarkToShare as BenchmarkToShare
from .release.items import SharedItem as SharedItem
from .release.items import read_build as read_build
from .release.items import read_release as read_release
