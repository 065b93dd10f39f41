/**
 * What is asked of a broker, request by request. `A1` and `A2` are two producers with the transactional id A, each with
 * the epoch that it was given.
 */
export type Step =
  | readonly ['init' | 'commit' | 'abort', who: string]
  | readonly ['add', who: string, partition: number]
  | readonly ['produce', who: string, partition: number, sequence: number, values: string]
  | readonly ['groups', who: string, group: string]
  | readonly ['offset', who: string, group: string, offset: number, metadata: string]
  /** What a group has committed for partition 0. */
  | readonly ['read', group: string]
  /** The last stable offset: markers count. */
  | readonly ['end', partition: number]

export interface Script {
  readonly name: string
  readonly steps: readonly Step[]
}

const BEGUN: readonly Step[] = [
  ['init', 'A1'],
  ['add', 'A1', 0],
  ['produce', 'A1', 0, 0, 'a b'],
]
const WITH_OFFSETS: readonly Step[] = [
  ...BEGUN,
  ['groups', 'A1', 'g'],
  ['offset', 'A1', 'g', 5, ''],
  ['groups', 'A1', 'l'],
  ['offset', 'A1', 'l', 2, '2'],
]

/** The same for the simulated broker and for the real one: each step's answer must be the same. */
export const SCRIPTS: readonly Script[] = [
  {
    name: 'a commit shows records and offsets',
    steps: [...WITH_OFFSETS, ['read', 'g'], ['end', 0], ['commit', 'A1'], ['read', 'g'], ['read', 'l'], ['end', 0]],
  },
  {
    name: 'an abort shows nothing',
    steps: [...WITH_OFFSETS, ['abort', 'A1'], ['read', 'g'], ['read', 'l'], ['end', 0]],
  },
  { name: 'a fence aborts what is open', steps: [...WITH_OFFSETS, ['init', 'A2'], ['read', 'g'], ['end', 0]] },
  {
    name: 'an open transaction holds readers back, another producer goes on',
    steps: [
      ...BEGUN,
      ['init', 'B1'],
      ['add', 'B1', 0],
      ['produce', 'B1', 0, 0, 'x'],
      ['commit', 'B1'],
      ['end', 0],
      ['commit', 'A1'],
      ['end', 0],
    ],
  },
  {
    name: 'an old epoch adds no partition',
    steps: [
      ['init', 'A1'],
      ['init', 'A2'],
      ['add', 'A1', 0],
    ],
  },
  {
    name: 'an old epoch produces nothing, its partition being in the transaction that was aborted',
    steps: [...BEGUN, ['init', 'A2'], ['produce', 'A1', 0, 2, 'late'], ['end', 0]],
  },
  {
    name: 'an old epoch adds no group',
    steps: [
      ['init', 'A1'],
      ['init', 'A2'],
      ['groups', 'A1', 'g'],
    ],
  },
  {
    name: 'an old epoch commits no offset, after a fence that aborted it',
    steps: [...WITH_OFFSETS, ['init', 'A2'], ['offset', 'A1', 'g', 9, ''], ['read', 'g']],
  },
  { name: 'an old epoch commits no transaction', steps: [...BEGUN, ['init', 'A2'], ['commit', 'A1'], ['end', 0]] },
  {
    name: 'an old epoch aborts no transaction of the new one',
    steps: [
      ...BEGUN,
      ['init', 'A2'],
      ['add', 'A2', 0],
      ['produce', 'A2', 0, 0, 'n'],
      ['abort', 'A1'],
      ['commit', 'A2'],
      ['end', 0],
    ],
  },
  {
    name: 'a batch that comes again is acknowledged and not appended',
    steps: [...BEGUN, ['produce', 'A1', 0, 0, 'a b'], ['commit', 'A1'], ['end', 0]],
  },
  { name: 'a gap in the sequence is refused', steps: [...BEGUN, ['produce', 'A1', 0, 7, 'gap'], ['end', 0]] },
  {
    name: 'a second transaction goes on with the sequence',
    steps: [...BEGUN, ['commit', 'A1'], ['add', 'A1', 0], ['produce', 'A1', 0, 2, 'c'], ['commit', 'A1'], ['end', 0]],
  },
  {
    name: 'a new epoch begins its sequence anew',
    steps: [
      ...BEGUN,
      ['commit', 'A1'],
      ['init', 'A2'],
      ['add', 'A2', 0],
      ['produce', 'A2', 0, 0, 'c'],
      ['commit', 'A2'],
      ['end', 0],
    ],
  },
  {
    name: 'a partition that is not in the transaction is refused',
    steps: [
      ['init', 'A1'],
      ['add', 'A1', 0],
      ['produce', 'A1', 1, 0, 'x'],
      ['end', 1],
    ],
  },
  {
    // Before its marker is written, the partition still takes it (seen: `ok`, or NOT_ENOUGH_REPLICAS while it asks).
    name: 'a late batch after the marker of its transaction is refused',
    steps: [...BEGUN, ['commit', 'A1'], ['end', 0], ['produce', 'A1', 0, 2, 'late'], ['end', 0]],
  },
  {
    name: 'a late batch joins the next transaction of the same epoch',
    steps: [
      ...BEGUN,
      ['commit', 'A1'],
      ['add', 'A1', 0],
      ['produce', 'A1', 0, 2, 'late'],
      ['commit', 'A1'],
      ['end', 0],
    ],
  },
  {
    name: 'a group that is not in the transaction is refused',
    steps: [
      ['init', 'A1'],
      ['add', 'A1', 0],
      ['offset', 'A1', 'g', 5, ''],
      ['read', 'g'],
    ],
  },
  {
    name: 'a commit that comes twice is the same commit',
    steps: [...BEGUN, ['commit', 'A1'], ['commit', 'A1'], ['end', 0]],
  },
  {
    name: 'an abort that comes twice is the same abort',
    steps: [...BEGUN, ['abort', 'A1'], ['abort', 'A1'], ['end', 0]],
  },
  { name: 'a commit of what was aborted is refused', steps: [...BEGUN, ['abort', 'A1'], ['commit', 'A1'], ['end', 0]] },
  {
    name: 'an abort of what was committed is refused',
    steps: [...BEGUN, ['commit', 'A1'], ['abort', 'A1'], ['end', 0]],
  },
  {
    name: 'a transaction that never began cannot be committed',
    steps: [
      ['init', 'A1'],
      ['commit', 'A1'],
    ],
  },
  {
    name: 'a late commit ends the next transaction of the same epoch',
    steps: [
      ...BEGUN,
      ['commit', 'A1'],
      ['add', 'A1', 0],
      ['produce', 'A1', 0, 2, 'c'],
      ['commit', 'A1'],
      ['end', 0],
      ['produce', 'A1', 0, 3, 'd'],
    ],
  },
  {
    name: 'offsets alone are a transaction',
    steps: [
      ['init', 'A1'],
      ['groups', 'A1', 'g'],
      ['offset', 'A1', 'g', 7, 'm'],
      ['commit', 'A1'],
      ['read', 'g'],
    ],
  },
  {
    name: 'the last offset of a transaction counts',
    steps: [
      ['init', 'A1'],
      ['groups', 'A1', 'g'],
      ['offset', 'A1', 'g', 7, ''],
      ['offset', 'A1', 'g', 8, 'x'],
      ['commit', 'A1'],
      ['read', 'g'],
    ],
  },
  {
    name: 'a fence after a commit keeps what was committed',
    steps: [...WITH_OFFSETS, ['commit', 'A1'], ['init', 'A2'], ['read', 'g'], ['read', 'l'], ['end', 0]],
  },
  {
    name: 'three fences in a row',
    steps: [
      ['init', 'A1'],
      ['init', 'A2'],
      ['init', 'A3'],
      ['add', 'A2', 0],
      ['add', 'A3', 0],
      ['produce', 'A3', 0, 0, 'x'],
      ['commit', 'A3'],
      ['end', 0],
    ],
  },
]
