import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from './request.mjs'

/** What the client gets of the environment of the job: no token of the job, and nothing that requests one. */
const PASSED = [
  ...['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'LANG', 'LC_ALL', 'CI', 'NODE_EXTRA_CA_CERTS'],
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'https_proxy', 'http_proxy', 'no_proxy'],
]

/**
 * Downloads the client that the server serves, so that both have one version; over HTTPS only, except from this machine.
 * Rejects when its SHA-256 is not the given one, if any. Returns a function that runs it with arguments and variables,
 * and returns the JSON that it prints; throws its error with the `code`.
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

function run(program, args, variables) {
  const passed = PASSED.filter((name) => process.env[name] !== undefined)
  const { stdout, error } = spawnSync(process.execPath, [program, ...args, '--json'], {
    env: { ...Object.fromEntries(passed.map((name) => [name, process.env[name]])), ...variables },
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
