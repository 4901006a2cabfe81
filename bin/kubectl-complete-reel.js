#!/usr/bin/env node
/** What kubectl asks for completions of `kubectl reel`, with the words typed so far. It is the same program, which looks at its name. */
import "./reel.js"
