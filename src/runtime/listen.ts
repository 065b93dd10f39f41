import type { AddressInfo, Server } from 'node:net'
import { BadConfiguration } from './config.ts'

export interface ListenAt {
  readonly port: number
  /** The variable that the port comes from. */
  readonly variable: 'PORT' | 'METRICS_PORT'
  /** From HOST; without it every address of the machine. */
  readonly host?: string
}

/**
 * @returns the port, which 0 leaves to the system
 * @throws BadConfiguration naming the variable, where the port or the host cannot be had
 */
export async function listenAt(server: Server, { port, host, variable }: ListenAt): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) =>
      server.once('error', reject).listen({ port, backlog: 511, ...(host === undefined ? {} : { host }) }, resolve),
    )
  } catch (error) {
    throw explain(error as NodeJS.ErrnoException, { port, variable, host })
  }
  return (server.address() as AddressInfo).port
}

function explain(
  error: NodeJS.ErrnoException,
  at: { port: number; variable: string; host: string | undefined },
): Error {
  const bad = (text: string) => new BadConfiguration(`Bad configuration:\n✖ ${text}`, { cause: error })
  switch (error.code) {
    case 'EADDRINUSE':
      return bad(`${at.variable} ${at.port} is in use: stop what listens there, or choose another port`)
    case 'EACCES':
      return bad(`${at.variable} ${at.port} is not allowed to this user: choose a port from 1024 on`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return at.host === undefined
        ? error
        : bad(
            `HOST ${at.host} is no address of this machine (${error.code}): 127.0.0.1 is for this machine only, 0.0.0.0 for all`,
          )
    default:
      return error
  }
}
