#!/usr/bin/env node
/** The command `kubectl reel`: kubectl runs plugins by the names of their files. It is the same program, which looks at its name. */
import "./reel.js"
