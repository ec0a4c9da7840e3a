import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from '../api/content.ts'
import { startDaemon } from './daemon.ts'

/** A harmless content that is in the signatures of the scanner of these tests. */
export const INFECTED = 'a content that the scanner of this test knows as malware'

export interface Clamd extends AsyncDisposable {
  /** As SLIPWAY_SCAN_HOOK takes them: its socket, and its port. */
  addresses: readonly [string, string]
}

/** The real daemon of ClamAV with one signature; tests use `requires('clamd')`. */
export async function startClamd(): Promise<Clamd> {
  let socket = ''
  const daemon = await startDaemon({
    name: 'clamd',
    ports: 1,
    async prepare(folder, [port]) {
      socket = join(folder, 'clamd.ctl')
      const signatures = join(folder, 'signatures')
      await mkdir(signatures)
      // hash:size:name (ClamAV, "Hash-based signatures").
      const signature = `${sha256(INFECTED)}:${Buffer.byteLength(INFECTED)}:Test.Malware\n`
      await writeFile(join(signatures, 'test.hsb'), signature)
      const file = join(folder, 'clamd.conf')
      await writeFile(file, configuration({ socket, signatures, port: port! }))
      return ['--foreground', `--config-file=${file}`]
    },
    isReady: (line) => line.includes('Self checking'),
    output: 'stdout',
  })
  return {
    addresses: [`clamd:${socket}`, `clamd:127.0.0.1:${daemon.ports[0]}`],
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}

function configuration({ socket, signatures, port }: { socket: string; signatures: string; port: number }) {
  return `
LocalSocket ${socket}
TCPSocket ${port}
TCPAddr 127.0.0.1
DatabaseDirectory ${signatures}
StreamMaxLength 1M
LogVerbose yes
`
}
