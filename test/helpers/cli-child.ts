/** The command line in a process of its own that crashes as `crash-here.ts` is told. */
import { runCli } from '../../src/cli/run-cli.ts'
import { reachToCrash } from './crash-here.ts'

process.exitCode = await runCli(process.argv.slice(2), process.env, reachToCrash)
