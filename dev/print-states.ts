import { printStates } from '../src/orders/states.ts'

// node dev/print-states.ts > docs/order-states.md
process.stdout.write(printStates())
