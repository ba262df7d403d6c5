// Keys for the pages of the explorer. Everything can be read without this file.
"use strict";
