import { join } from 'node:path'
import { ROOT } from '../server-process.ts'
import type { MeasuredServer, Runner } from '../serving/rounds.ts'
import { loaded } from '../serving/wrk.ts'
import type { Caller, Calls } from './caller.ts'

interface HandshakeWork extends Pick<Caller, 'path' | 'bytes' | 'resume' | 'version'> {
  /** The port with or without resumption. */
  port: number
  core: number
}

/**
 * A new connection per request. Resumption is checked for each handshake: a run with an unexpected one counts
 * as failed.
 */
export async function byHandshakes(server: MeasuredServer, work: HandshakeWork): Promise<Runner> {
  const { port, core, ...asked } = work
  const run = async (seconds: number) => {
    const caller: Caller = { ...asked, port, name: server.secureName!, seconds, connections: 32 }
    const command = [
      join(ROOT, 'node_modules/.bin/node'),
      join(import.meta.dirname, 'caller.ts'),
      JSON.stringify(caller),
    ]
    const used = await loaded(command, server.pid, core)
    const calls = JSON.parse(used.text) as Calls
    assertCorrect(calls, caller)
    const { waiting } = used
    return {
      perSecond: calls.handshakes / calls.seconds,
      seconds: calls.seconds,
      // The client's start and end do not load the server.
      cores: (used.cores * used.seconds) / calls.seconds,
      ...(waiting === undefined ? {} : { waiting }),
    }
  }
  await run(0.3)
  return run
}

/** The preferred suite of all servers, so that the work is equal. */
const CIPHERS = {
  'TLSv1.2': 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLSv1.3': 'TLS_AES_128_GCM_SHA256',
}

function assertCorrect({ handshakes, resumed, problems, cipher }: Calls, caller: Caller): void {
  if (problems.length > 0) throw new Error(`a handshake or its answer failed: ${problems[0]}`)
  if (cipher !== CIPHERS[caller.version])
    throw new Error(`the cipher was ${cipher}, not ${CIPHERS[caller.version]}`)
  const wanted = caller.resume ? handshakes - caller.connections : 0
  if (caller.resume ? resumed < wanted : resumed > wanted)
    throw new Error(`${resumed} of ${handshakes} handshakes were resumed`)
}
