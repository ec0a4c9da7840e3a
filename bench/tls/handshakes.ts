import { join } from 'node:path'
import { ROOT } from '../server-process.ts'
import type { Asked, Runner } from '../serving/rounds.ts'
import { loaded } from '../serving/wrk.ts'
import type { Caller, Calls } from './caller.ts'

interface HandshakeWork extends Pick<Caller, 'path' | 'bytes' | 'resume' | 'version'> {
  /** The port to ask: where handshakes can be resumed, or cannot. */
  port: number
  core: number
}

/**
 * A new connection for each request. Whether the server resumes is looked at for each handshake: a run in which some were
 * that should not have been, or were not that should, counts as failed.
 */
export async function byHandshakes(server: Asked, work: HandshakeWork): Promise<Runner> {
  const { port, core, ...asked } = work
  const run = async (seconds: number) => {
    const caller: Caller = { ...asked, port, name: server.secureName!, seconds, lanes: 32 }
    const command = [
      join(ROOT, 'node_modules/.bin/node'),
      join(import.meta.dirname, 'caller.ts'),
      JSON.stringify(caller),
    ]
    const used = await loaded(command, server.pid, core)
    const calls = JSON.parse(used.text) as Calls
    refuseWrong(calls, caller)
    const { waiting } = used
    return {
      perSecond: calls.handshakes / calls.seconds,
      seconds: calls.seconds,
      // The server is asked for a part only of the time that the client takes to start and to end.
      cores: (used.cores * used.seconds) / calls.seconds,
      ...(waiting === undefined ? {} : { waiting }),
    }
  }
  await run(0.3)
  return run
}

/** What all servers prefer, so that none of them has an easier one. */
const CIPHERS = {
  'TLSv1.2': 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLSv1.3': 'TLS_AES_128_GCM_SHA256',
}

function refuseWrong({ handshakes, resumed, problems, cipher }: Calls, caller: Caller): void {
  if (problems.length > 0) throw new Error(`a handshake or its answer failed: ${problems[0]}`)
  if (cipher !== CIPHERS[caller.version])
    throw new Error(`the cipher was ${cipher}, not ${CIPHERS[caller.version]}`)
  const wanted = caller.resume ? handshakes - caller.lanes : 0
  if (caller.resume ? resumed < wanted : resumed > wanted)
    throw new Error(`${resumed} of ${handshakes} handshakes were resumed`)
}
