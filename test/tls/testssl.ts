import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { program } from '../../scripts/program.mjs'
import { issuer } from './secure-service.ts'

export interface Finding {
  id: string
  severity: string
  finding: string
}

/** What testssl.sh finds at a name on this machine, without a question to anybody else; all it can without `checks`. */
export async function examine(port: number, name: string, checks: readonly string[]): Promise<Finding[]> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-testssl-'))
  try {
    const root = join(folder, 'root.pem')
    const report = join(folder, 'report.json')
    await writeFile(root, issuer.root)
    const offline = ['--ip', '127.0.0.1', '--nodns', 'none', '--warnings', 'batch']
    const asked = ['--quiet', '--color', '0', '--add-ca', root, '--jsonfile', report, ...checks]
    const child = spawn(program('testssl')!, [...offline, ...asked, `${name}:${port}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, HOME: folder },
    })
    const [said] = await Promise.all([text(child.stdout), once(child, 'exit')])
    return JSON.parse(
      await readFile(report, 'utf8').catch(() => {
        throw new Error(said)
      }),
    ) as Finding[]
  } finally {
    await rm(folder, { recursive: true })
  }
}
