import type { Command } from '../store/read-commands.ts'
import { commandView } from '../store/order-view.ts'
import { locationOf } from './command-answer.ts'
import { COMMAND } from './order-schemas.ts'
import { maySee, NOT_FOUND } from './policy.ts'
import { refuse, type Route } from './route.ts'

export interface ReadCommandDeps {
  readonly readCommand: (id: number) => Promise<Command | undefined>
}

/** A command as it stands: always 200, as the question was answered; `status` and `result` say what came of it. */
export const readCommandRoute = (deps: ReadCommandDeps): Route => ({
  method: 'get',
  path: '/v1/commands/:id',
  action: 'read_command',
  doc: {
    id: 'readCommand',
    summary: 'A command as it stands.',
    location: true,
    answers: { 200: COMMAND },
    refusals: ['not_found'],
  },
  handle: async ({ params, principal }) => {
    const id = /^[1-9]\d{0,15}$/.test(params['id'] ?? '') ? Number(params['id']) : undefined
    const command = id === undefined || !Number.isSafeInteger(id) ? undefined : await deps.readCommand(id)
    if (command === undefined || !maySee(principal, command.merchant)) return refuse(NOT_FOUND)
    return { kind: 'answer', status: 200, body: commandView(command), headers: { location: locationOf(command) } }
  },
})
