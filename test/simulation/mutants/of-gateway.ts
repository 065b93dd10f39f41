import type { Mutant } from './mutant.ts'

const PUBLISHER = 'src/gateway/batch-publisher.ts'

/** Wrong designs of the gateway's answer. */
export const GATEWAY_MUTANTS: readonly Mutant[] = [
  {
    name: 'acknowledged before the ack',
    why: 'the provider forgets a callback that is in no log',
    changes: [
      {
        file: PUBLISHER,
        find: 'queue.waiting.push({ message, bytes: size, deadlineAtMs, settle })',
        replace:
          'queue.waiting.push({ message, bytes: size, deadlineAtMs, settle: () => undefined })\n        settle(ACKED)',
      },
    ],
  },
  {
    name: 'acknowledged after the first of several records',
    why: 'the second order of a combined payment never hears of it',
    changes: [
      {
        file: 'src/gateway/receive-callback.ts',
        find: 'else if (--missing === 0) {',
        replace: 'else if (--missing >= 0) {\n        missing = 0',
      },
    ],
  },
  {
    name: 'an ack settles all that wait for the partition',
    why: 'what came while the call was on its way is in no log, and its sender forgets it',
    changes: [
      {
        file: PUBLISHER,
        find: 'if (error === undefined) for (const item of batch) settle(item, ACKED)',
        replace:
          'if (error === undefined) for (const item of [...batch, ...queue.waiting.splice(0)]) settle(item, ACKED)',
      },
    ],
  },
]
