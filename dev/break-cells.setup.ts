import { inject } from 'vitest'
import { breakCell } from './break-cell.ts'

declare module 'vitest' {
  interface ProvidedContext {
    brokenCell: string
  }
}

breakCell(inject('brokenCell'))
