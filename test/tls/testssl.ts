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

/** Runs testssl.sh on a local port, without network access; all its checks if `checks` is empty. */
export async function runTestssl(port: number, name: string, checks: readonly string[]): Promise<Finding[]> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-testssl-'))
  try {
    const root = join(folder, 'root.pem')
    const report = join(folder, 'report.json')
    await writeFile(root, issuer.root)
    const offline = ['--ip', '127.0.0.1', '--nodns', 'none', '--warnings', 'batch']
    const options = ['--quiet', '--color', '0', '--add-ca', root, '--jsonfile', report, ...checks]
    const child = spawn(program('testssl')!, [...offline, ...options, `${name}:${port}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, HOME: folder },
    })
    const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
    return JSON.parse(
      await readFile(report, 'utf8').catch(() => {
        throw new Error(output)
      }),
    ) as Finding[]
  } finally {
    await rm(folder, { recursive: true })
  }
}
