import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { dnsHook } from '../../server/certificates/dns-hook.ts'
import { readConfig } from '../../server/config/settings.ts'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import { makeLog } from '../../server/lib/log.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import { PATIENT } from '../support/patient.ts'
import { startKnot } from '../tools/knot.ts'
import { requires } from '../tools/part.ts'
import { writeScript } from './hook-script.ts'
import { LEGO_CERTIFICATE, LEGO_SETTINGS } from './lego-certificate.ts'

const NAME = '_acme-challenge.sites.test'
const log = makeLog({ level: 'silent', text: false, write: () => undefined })
const environment = { PATH: process.env.PATH! }
const digest = (text: string) => createHash('sha256').update(text).digest('base64url')

test('the example hook adds and removes records', requires('knot'), async () => {
  await using knot = await startKnot()
  const example = join(import.meta.dirname, '..', '..', 'deploy', 'dns-hook-nsupdate')
  await using wrapper = await writeScript(
    `export DNS_HOOK_SERVER='127.0.0.1 ${knot.port}' DNS_HOOK_SECONDARIES='127.0.0.1#${knot.port}'`,
    `exec "${example}" "$@"`,
  )
  const hook = dnsHook({ program: wrapper.program, environment, log })
  const dns = resolverDns({ servers: [knot.address], timeoutMs: PATIENT.dns })
  const [one, other] = [digest('one'), digest('other')]
  await hook.present(NAME, one)
  await hook.present(NAME, other)
  assert.deepEqual([...(await dns.txt(NAME)).values].sort(), [one, other].sort())
  await hook.cleanup(NAME, one)
  assert.deepEqual(await dns.txt(NAME), { values: [other] })
  await hook.cleanup(NAME, other)
  await hook.cleanup(NAME, other)
  assert.deepEqual(await dns.txt(NAME), { values: [] })
  await assert.rejects(hook.present('_acme-challenge.elsewhere.example', one), /code \d+; output: ".+"$/)
})

for (const [name, args] of [
  ['dns-hook-nsupdate', []],
  ['dns-hook-nsupdate', ['add', 'a.example', 'value']],
  ['lego-certificate', []],
] as const)
  test(`deploy/${name} ${args.join(' ')} prints its usage`, async () => {
    const program = join(import.meta.dirname, '..', '..', 'deploy', name)
    await assert.rejects(run(program, [...args]), (error: Error & { code: number; stderr: string }) => {
      assert.deepEqual([error.code, error.stderr.startsWith(`usage: ${name} `)], [2, true])
      return true
    })
  })

test('a hook gets the action, the name and the value unchanged, one call at a time', async () => {
  await using given = await writeScript(
    'mkdir busy || exit 9',
    'printf "%s|" "$#" "$@" >> calls',
    'echo >> calls',
    'rmdir busy',
  )
  const hook = dnsHook({ program: given.program, environment, log })
  const calls = Array.from({ length: 5 }, (_, index) => hook.present(NAME, `-value${index}`))
  await Promise.all([...calls, hook.cleanup(NAME, digest('x'))])
  assert.deepEqual((await readFile(join(given.folder, 'calls'), 'utf8')).trim().split('\n'), [
    ...calls.map((_, index) => `3|present|${NAME}|-value${index}|`),
    `3|cleanup|${NAME}|${digest('x')}|`,
  ])
})

// biome-ignore format: one row per case
const failureCases: { what: string; lines: string[]; message: RegExp; timeoutMs?: number }[] = [
  { what: 'fails', lines: ['echo "no such zone" >&2', 'exit 3'], message: /present _acme-challenge\.sites\.test exited with code 3; output: "no such zone"$/ },
  { what: 'prints without limit', lines: ['yes "a long story" | head -c 3000000', 'echo; echo the end; exit 1'], message: /^.{20,4400} \/ the end"$/ },
  { what: 'prints control characters', lines: ["printf 'a\\033[2Jb\\0c'", 'exit 1'], message: /"a \[2Jb c"$/ },
  { what: 'ignores SIGTERM', lines: ["trap '' TERM", 'echo unmoved', 'while :; do sleep 600; done'], message: /timed out after 0\.3 seconds; output: ("unmoved|none)/, timeoutMs: 300 },
]

test('an error names a hook that does not exist', () =>
  assert.rejects(
    dnsHook({ program: '/no/such/hook', environment, log }).present(NAME, digest('x')),
    /SLIPWAY_DNS_HOOK=\/no\/such\/hook cannot be run: .*ENOENT/,
  ))

for (const { what, lines, message, timeoutMs = HOUR_MS } of failureCases) {
  test(`an error message for the operator describes a hook that ${what}`, async () => {
    await using broken = await writeScript(...lines)
    const hook = dnsHook({ program: broken.program, environment, log, timeoutMs, killDelayMs: 200 })
    await assert.rejects(hook.present(NAME, digest('x')), { message })
  })
}

test('a hook gets its own environment variables and no secret of the service', async () => {
  await using given = await writeScript('env > environment')
  const { dnsHookEnvironment } = readConfig({
    PATH: process.env.PATH,
    HOME: '/nowhere',
    DNS_HOOK_KEY: '/etc/key',
    PROVIDER_TOKEN: 'for the hook',
    OTHER_TOKEN: 'for others',
    NODE_OPTIONS: '--no-warnings',
    SLIPWAY_SECRET: 'a secret of thirty-two characters',
    SLIPWAY_SMTP_URL: 'smtp://user:hush@mail.example',
    SLIPWAY_DNS_HOOK: given.program,
    SLIPWAY_DNS_HOOK_VARIABLES: 'PROVIDER_TOKEN, ABSENT',
  })
  const hook = dnsHook({ program: given.program, environment: dnsHookEnvironment, log })
  await hook.present(NAME, digest('x'))
  const lines = (await readFile(join(given.folder, 'environment'), 'utf8')).trim().split('\n')
  // The shell adds its own variables.
  const passed = lines.filter((line) => !/^(PWD|OLDPWD|SHLVL|_)=/.test(line)).sort()
  assert.deepEqual(passed, [
    'DNS_HOOK_KEY=/etc/key',
    'HOME=/nowhere',
    `PATH=${process.env.PATH}`,
    'PROVIDER_TOKEN=for the hook',
  ])
})

test('a background process of a hook does not delay its result', async () => {
  await using leaving = await writeScript('sleep 600 & echo $! > child', 'exit 0')
  await dnsHook({ program: leaving.program, environment, log }).present(NAME, digest('x'))
  process.kill(Number(await readFile(join(leaving.folder, 'child'), 'utf8')))
})

test('a hook never gets a record that could inject another one', async () => {
  await using given = await writeScript('touch called')
  const hook = dnsHook({ program: given.program, environment, log })
  for (const [name, value] of [
    ['a.test; rm', 'x'],
    ['a.test', 'x\nupdate add b.test. 1 A 127.0.0.1'],
    ['-', 'x'],
    ['a.test', ''],
  ] as const) {
    await assert.rejects(hook.present(name, value), /does not accept this record/)
  }
  await assert.rejects(readFile(join(given.folder, 'called')), { code: 'ENOENT' })
})

const run = promisify(execFile)

const LEGO_4 = '   renew  Renew'
const LEGO_5 = '   run  Get or renew'

for (const [version, help, base, expected] of [
  ['4', LEGO_4, 'https://slipway.test', /--domains \*\.sites\.test --domains slipway\.test --flag run$/],
  ['5', LEGO_5, 'http://www.sites.test:80', /^run .* --domains \*\.sites\.test --flag$/],
] as const)
  test(`deploy/lego-certificate has the arguments of lego ${version} for ${base}`, async () => {
    await using fake = await writeScript(
      `if [ "$1" = --help ]; then echo '${help}'; else echo "$*" > calls; fi`,
    )
    await run('ln', ['-s', fake.program, join(fake.folder, 'lego')])
    const env = {
      ...LEGO_SETTINGS,
      SLIPWAY_BASE_URL: base,
      PATH: `${fake.folder}:${process.env.PATH}`,
      LEGO_PATH: join(fake.folder, 'state'),
      LEGO_OPTIONS: '--flag',
    }
    await run(LEGO_CERTIFICATE, ['cloudflare'], { env })
    assert.match((await readFile(join(fake.folder, 'calls'), 'utf8')).trim(), expected)
  })
