import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Downloads the client that the server serves, so that both have one version. Returns a function that runs it with
 * arguments and variables, and returns the JSON that it prints; throws its error with the `code`.
 */
export async function downloadClient(server, folder = tmpdir()) {
  const response = await fetch(`${server}/cli.tgz`)
  if (!response.ok) throw new Error(`${server}/cli.tgz returned ${response.status}`)
  const home = mkdtempSync(join(folder, 'slipway-'))
  writeFileSync(join(home, 'cli.tgz'), Buffer.from(await response.arrayBuffer()))
  const { status, error } = spawnSync('tar', ['-xzf', 'cli.tgz'], { cwd: home, stdio: 'inherit' })
  if (status !== 0)
    throw new Error(`The client cannot be extracted: ${error?.message ?? `tar returned ${status}`}`)
  const root = join(home, 'package')
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const program = join(root, typeof bin === 'string' ? bin : bin.slipway)
  return (args, variables) => run(program, args, { ...variables, SLIPWAY_URL: server })
}

function run(program, args, variables) {
  const { stdout, error } = spawnSync(process.execPath, [program, ...args, '--json'], {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  })
  if (error) throw error
  const result = JSON.parse(stdout)
  if (typeof result.error !== 'string') return result
  const message = [result.error, result.hint].filter(Boolean).join('. ')
  throw Object.assign(new Error(message), { code: result.code })
}
