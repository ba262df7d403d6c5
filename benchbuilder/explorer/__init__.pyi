from .app.app import create_explorer as create_explorer
from .app.explorer_site import ExplorerSite as ExplorerSite
from .app.explorer_site import missing_view_extra as missing_view_extra
from .reading.build_folders import BuildFolder as BuildFolder
from .reading.build_folders import find_builds as find_builds
