/** Seeds that once found something, each with what it was. They run first. */
export const REGRESSIONS: readonly { readonly seed: number; readonly was: string }[] = [
  { seed: 27, was: 'two fences that overlap: ledger_below_settled, and a lane halted with which nothing was wrong' },
  { seed: 51, was: 'the same, found by rebalances and lost answers alone' },
  { seed: 388, was: 'the same, while another lane of the process goes on' },
  { seed: 105023, was: 'owners that fence in turn were taken for dead, and a sound record for their killer' },
  { seed: 830256280, was: "the simulated Postgres ended a failed transaction twice, and took another one's row along" },
  {
    seed: 830260056,
    was: 'the fold did not see that a conflicting fact which came again let its order be tried again',
  },
  {
    seed: 500007805,
    was: 'the group was set on while a fence waited that a join then overtook: the consumer read on beyond, unnoticed',
  },
  {
    seed: 500008046,
    was: 'the same, with the group set back between the join and a fence that waited for a restored Postgres',
  },
  { seed: 3047447184, was: 'Postgres was set back twice, the second time to what the first had thrown away' },
  { seed: 5299, was: 'a coordinator that had just taken over said an older ledger: an event went out twice' },
  {
    seed: 966241972,
    was: 'a process froze in its fence while others worked and Postgres was set back: it numbered as others were out',
  },
  {
    seed: 966249291,
    was: 'Postgres was set back while a release was being told: the brake was ended, and never released',
  },
  { seed: 5123, was: 'a coordinator that had just taken over said an older ledger, and the lane halted for it' },
]
