import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { request } from './request.mjs'

/** What the client gets of the environment of the job: no token of the job, and nothing that requests one. */
const PASSED = [
  ...['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'LANG', 'LC_ALL', 'CI', 'NODE_EXTRA_CA_CERTS'],
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'https_proxy', 'http_proxy', 'no_proxy'],
]

/**
 * Downloads the client that the server serves, so that both have one version; over HTTPS only, except from this machine.
 * Rejects when its SHA-256 is not the given one, if any. Resolves to a function that runs it with arguments and variables,
 * and resolves to the JSON that it prints, or rejects with its error, which has its `code`.
 */
export async function downloadClient(server, { folder = tmpdir(), sha256 = '' } = {}) {
  assertSecure(server)
  const bytes = Buffer.from(await (await request(`${server}/cli.tgz`)).arrayBuffer())
  const actual = createHash('sha256').update(bytes).digest('hex')
  if (sha256 !== '' && actual !== sha256.toLowerCase())
    throw new Error(`The client of ${server} has the SHA-256 ${actual}, not that of the input client-sha256`)
  const home = mkdtempSync(join(folder, 'slipway-'))
  writeFileSync(join(home, 'cli.tgz'), bytes)
  const { status, error } = spawnSync('tar', ['-xzf', 'cli.tgz'], { cwd: home, stdio: 'inherit' })
  if (status !== 0)
    throw new Error(`The client cannot be extracted: ${error?.message ?? `tar returned ${status}`}`)
  const root = join(home, 'package')
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const program = join(root, typeof bin === 'string' ? bin : bin.slipway)
  return (args, variables) => run(program, args, { ...variables, SLIPWAY_URL: server })
}

function assertSecure(server) {
  if (!URL.canParse(server)) throw new Error('The input server must be a URL such as https://slipway.example')
  const { protocol, hostname } = new URL(server)
  const isHere = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)
  if (protocol !== 'https:' && !(protocol === 'http:' && isHere))
    throw new Error(
      `The input server must begin with https://, because the job runs a program from ${server}`,
    )
}

/**
 * What the client says about the folder and the server may be text of a stranger: the runner takes no commands from it.
 * It goes to one stream, because the runner reads two in any order.
 */
async function run(program, args, variables) {
  const passed = PASSED.filter((name) => process.env[name] !== undefined)
  const child = spawn(process.execPath, [program, ...args, '--json'], {
    env: { ...Object.fromEntries(passed.map((name) => [name, process.env[name]])), ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = randomUUID()
  process.stdout.write(`::stop-commands::${end}\n`)
  child.stderr.pipe(process.stdout, { end: false })
  const [stdout, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'close')]).finally(() =>
    process.stdout.write(`\n::${end}::\n`),
  )
  const result = parseResult(stdout)
  if (result === undefined)
    throw new Error(`The client ended with ${signal ?? `exit code ${code}`} and without a result`)
  if (typeof result.error !== 'string') return result
  const message = [result.error, result.hint].filter(Boolean).join('. ')
  throw Object.assign(new Error(message), { code: result.code })
}

/** The object that the client prints; undefined when it ended before, such as for want of memory. */
function parseResult(stdout) {
  try {
    return JSON.parse(stdout) ?? undefined
  } catch {
    return undefined
  }
}
