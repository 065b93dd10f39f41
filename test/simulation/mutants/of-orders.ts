import type { Mutant } from './mutant.ts'

/** Wrong decisions: the fold of the log says otherwise. */
export const ORDER_MUTANTS: readonly Mutant[] = [
  {
    name: 'held facts released twice',
    why: 'a held fact that was applied is still held: it is applied again',
    changes: [
      {
        file: 'src/processor/write-decision.ts',
        find: '  ...decision,\n',
        replace: '  ...decision,\n  changedFacts: [],\n',
      },
    ],
  },
  {
    name: 'amount unchecked',
    why: 'a payment of another amount ships the order',
    changes: [
      {
        file: 'src/orders/accept-payment.ts',
        find: 'if (fact.amountMinor === amountMinor && fact.currency === currency) return',
        replace: 'if (fact.currency === currency || amountMinor === null) return',
      },
    ],
  },
  {
    name: 'an event overtakes the one that waits',
    why: 'a worker gets the refund before the ship',
    changes: [
      {
        file: 'src/orders/brake.ts',
        find: 'const brakeId = brakes.find(event) ?? before',
        replace: 'const brakeId = brakes.find(event) ?? (before === undefined ? undefined : undefined)',
      },
    ],
  },
  {
    name: 'a refund acts on the order, whichever payment it is of',
    why: 'the refund of a second payment cancels the order',
    changes: [
      {
        file: 'src/orders/refund-payment.ts',
        find: 'return (payment.providerRef === work.order.acceptedRef ? ofAccepted : refundOther)(work, entry, payment)',
        replace: 'return ofAccepted(work, entry, payment)',
      },
    ],
  },
  {
    name: 'a group is not freed by a refund',
    why: 'the second order of a purchase can never be paid',
    changes: [
      { file: 'src/orders/refund-payment.ts', find: `      freeGroup(work)\n`, replace: '      void freeGroup\n' },
    ],
  },
]
