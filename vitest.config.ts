import { defineConfig } from 'vitest/config'

/**
 * A file's name says what it needs: `x.test.ts` nothing, `x.int.test.ts` the local stack, `faults/` kills things, and
 * each file of `deploy/` a program of its own (dev/suites.ts).
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'pure',
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/**/*.int.test.ts',
            'test/faults/**',
            'test/deploy/**',
            'test/simulation/**',
            'test/chaos/{checker,chaos}.test.ts',
          ],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'simulation',
          include: ['test/simulation/*.test.ts'],
          exclude: ['test/**/*.int.test.ts'],
          testTimeout: 900_000,
          // Each test has worker threads of its own.
          fileParallelism: false,
          maxConcurrency: 2,
        },
      },
      {
        test: {
          name: 'stack',
          include: ['test/**/*.int.test.ts'],
          exclude: ['test/faults/**', 'test/deploy/**'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'chaos',
          include: ['test/chaos/{checker,chaos}.test.ts'],
          testTimeout: 1_500_000,
          // A hook plays a whole run, with the machine's two cores perhaps at work on something else.
          hookTimeout: 900_000,
          fileParallelism: false,
        },
      },
      ...['image', 'compose', 'dashboard'].map((name) => ({
        test: { name, include: [`test/deploy/${name}.test.ts`], testTimeout: 300_000, hookTimeout: 120_000 },
      })),
    ],
  },
})
