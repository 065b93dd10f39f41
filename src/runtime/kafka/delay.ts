/** Resolves after `ms`, on the global timers (which a test can replace). */
export const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
