import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { dnsHook } from '../../server/certificates/dns-hook.ts'
import { readConfig } from '../../server/config/settings.ts'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import { makeLog } from '../../server/lib/log.ts'
import { startKnot } from '../tools/knot.ts'
import { requires } from '../tools/part.ts'

const NAME = '_acme-challenge.sites.test'
const log = makeLog({ level: 'silent', text: false, write: () => undefined })
const environment = { PATH: process.env.PATH! }
const digest = (text: string) => createHash('sha256').update(text).digest('base64url')

interface Script extends AsyncDisposable {
  folder: string
  program: string
}

/** Writes a hook program with these shell lines. */
async function script(...lines: string[]): Promise<Script> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-hook-'))
  const program = join(folder, 'hook')
  await writeFile(program, ['#!/bin/sh', `cd '${folder}'`, ...lines, ''].join('\n'))
  await chmod(program, 0o755)
  return { folder, program, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
}

test('the example hook adds and removes records', requires('knot'), async () => {
  await using knot = await startKnot()
  const example = join(import.meta.dirname, '..', '..', 'deploy', 'dns-hook-nsupdate')
  await using wrapper = await script(
    `export DNS_HOOK_SERVER='127.0.0.1 ${knot.port}' DNS_HOOK_SECONDARIES='127.0.0.1#${knot.port}'`,
    `exec '${example}' "$@"`,
  )
  const hook = dnsHook({ program: wrapper.program, environment, log })
  const dns = resolverDns({ servers: [knot.address] })
  const [one, other] = [digest('one'), digest('other')]
  await hook.present(NAME, one)
  await hook.present(NAME, other)
  assert.deepEqual([...(await dns.txt(NAME)).values].sort(), [one, other].sort())
  await hook.cleanup(NAME, one)
  assert.deepEqual(await dns.txt(NAME), { values: [other] })
  await hook.cleanup(NAME, other)
  await hook.cleanup(NAME, other)
  assert.deepEqual(await dns.txt(NAME), { values: [] })
  await assert.rejects(
    hook.present('_acme-challenge.elsewhere.example', one),
    /exit code \d+; it printed ".+"$/,
  )
})

test('a hook gets the action, the name and the value unchanged, one call at a time', async () => {
  await using given = await script(
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
const failureCases: { what: string; lines: string[]; message: RegExp }[] = [
  { what: 'fails', lines: ['echo "no such zone" >&2', 'exit 3'], message: /present _acme-challenge\.sites\.test ended with exit code 3; it printed "no such zone"$/ },
  { what: 'fails without output', lines: ['exit 1'], message: /exit code 1; it printed nothing$/ },
  { what: 'prints without limit', lines: ['yes "a long story" | head -c 3000000', 'echo; echo the end; exit 1'], message: /^.{20,4400} \/ the end"$/ },
  { what: 'prints control characters', lines: ["printf 'a\\033[2Jb\\0c'", 'exit 1'], message: /"a \[2Jb c"$/ },
  { what: 'is killed', lines: ['kill -9 $$'], message: /was ended by SIGKILL/ },
  { what: 'never ends', lines: ['echo waiting', 'sleep 600'], message: /did not end within 0\.3 seconds; it printed "waiting"/ },
  { what: 'ignores SIGTERM', lines: ["trap '' TERM", 'echo unmoved', 'while :; do sleep 600; done'], message: /did not end within 0\.3 seconds; it printed "unmoved/ },
]

for (const { what, lines, message } of failureCases) {
  test(`an error message for the operator describes a hook that ${what}`, async () => {
    await using broken = await script(...lines)
    const hook = dnsHook({ program: broken.program, environment, log, timeoutMs: 300, killDelayMs: 200 })
    await assert.rejects(hook.present(NAME, digest('x')), { message })
  })
}

test('a hook gets its own environment variables and no secret of the service', async () => {
  await using given = await script('env > environment')
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
  await using leaving = await script('sleep 600 & echo $! > child', 'exit 0')
  await dnsHook({ program: leaving.program, environment, log }).present(NAME, digest('x'))
  process.kill(Number(await readFile(join(leaving.folder, 'child'), 'utf8')))
})

test('an error names a hook that does not exist', async () => {
  const hook = dnsHook({ program: '/no/such/hook', environment, log })
  await assert.rejects(
    hook.present(NAME, digest('x')),
    /SLIPWAY_DNS_HOOK=\/no\/such\/hook cannot be run: .*ENOENT/,
  )
})

test('a hook never gets a record that could inject another one', async () => {
  await using given = await script('touch called')
  const hook = dnsHook({ program: given.program, environment, log })
  for (const [name, value] of [
    ['a.test; rm', 'x'],
    ['a.test', 'x\nupdate add b.test. 1 A 127.0.0.1'],
    ['-', 'x'],
    ['a.test', ''],
  ] as const) {
    await assert.rejects(hook.present(name, value), /takes no such record/)
  }
  await assert.rejects(readFile(join(given.folder, 'called')), { code: 'ENOENT' })
})
