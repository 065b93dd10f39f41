#!/usr/bin/env node
import { runCli } from './run-cli.ts'

// Not `process.exit`: what was written to a pipe must get through first.
process.exitCode = await runCli(process.argv.slice(2), process.env)
