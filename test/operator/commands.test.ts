import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sweeps } from '../../server/jobs/jobs.ts'
import { writeEmptyDatabase } from '../support/engines.ts'
import { startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { run, runProcess } from './program.ts'

test('an invalid setting does not stop commands that print help', async () => {
  for (const [command, output] of [
    ['settings', /^SLIPWAY_PORT +8080 /m],
    ['help', /slipway-server settings/],
    ['sweeps', /^blobs +every +300 s/m],
    ['version', /^\d+\.\d+\.\d+$/m],
  ] as const) {
    const { code, lines, stderr } = await run([command], { PORT: 'eighty' })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(lines.join('\n'), output)
  }
})

test('results are on the standard output and errors on the standard error, with the exit code', async () => {
  const version = await runProcess(['version'], { PORT: 'eighty' })
  assert.match(version.lines[0]!, /^\d+\.\d+\.\d+$/)
  assert.deepEqual({ ...version, lines: [] }, { code: 0, lines: [], stderr: '' })
  const unknown = await runProcess(['sweeep'])
  assert.deepEqual(
    { ...unknown, stderr: unknown.stderr.split('\n')[0] },
    {
      ...{ code: 2, lines: [], stderr: 'Unknown command: sweeep. Did you mean slipway-server sweep?' },
    },
  )
  const failed = await runProcess(['nodes'], { PORT: 'eighty' })
  assert.deepEqual([failed.code, failed.lines], [1, []])
  assert.match(failed.stderr, /^slipway-server: SLIPWAY_PORT="eighty" is not allowed: /)
})

test('invalid arguments print the usage of their command, if there is one, and exit with 2', async () => {
  for (const [args, sentence] of [
    [['acount'], /^Unknown command: acount\. Did you mean slipway-server account\?\n/],
    [['unknown'], /^Unknown command: unknown\.\n/],
    [['worker', '1'], /^Unknown command: worker\. To run several, set SLIPWAY_WORKERS\.\n/],
    [['sweep', 'everything'], /Unknown sweep: everything\. Use one of .*blobs/],
    [['serve', 'now'], /serve takes no arguments: now/],
    [['sweep'], /^sweep needs the name of a sweep or all\./],
    [['sweep', 'blobs', 'junk'], /^sweep needs the name of a sweep or all\./],
    [['mail', 'preview', 'code', 'junk'], /^mail preview takes a kind of email, and --out FOLDER\./],
    [['mail', 'preview', '--out'], /^mail preview: Option '--out <value>' argument missing/],
    [['account'], /^account needs a command: plan, admin, suspend, resume or delete\./],
    [['account', 'suspend', 'a@b.test'], /^account suspend needs --reason TEXT\./],
    [['site', 'suspend', '--reason', 'x'], /^site suspend needs the name of a site\./],
    [['site', 'show', 'a', '--force'], /^site show does not take --force\./],
    [['site', 'show', 'a', '--what'], /^site show: Unknown option '--what'\.\n/],
    [['domain'], /^domain needs a command: release\./],
    [['block', 'network'], /^block network needs a command: add, remove or list\./],
    [
      ['block', 'hash', 'add', 'x', '--reason', 'y', '--for', '1y'],
      /--for=1y is not allowed: it must be a duration with its unit from/,
    ],
    [['account', 'admin', '--remove'], /^account admin needs an email address/],
    [['account', 'plan', 'a@b.test'], /^account plan needs an email address and a plan: free/],
    [
      ['account', 'plan', 'a@b.test', 'golden'],
      /^Unknown plan: golden\. Use free \(displayed as "Free"\) or hobby \(displayed as "Hobby"\)\./,
    ],
    [
      ['account', 'plan', 'a@b.test', 'hobby', '--site', '5'],
      /^account plan takes --requests-per-hour, --sites, .* or by plan for that of the plan: --site\n/,
    ],
  ] as const) {
    const { code, lines, stderr } = await run([...args])
    assert.deepEqual([code, lines], [2, []])
    assert.match(stderr, sentence)
    const [, ...usage] = stderr.trimEnd().split('\n')
    assert.equal(usage.pop(), 'All commands: slipway-server help')
    assert.deepEqual(
      [usage.length > 0, stderr.includes('slipway-server backup')],
      [!/^Unknown command/.test(stderr), false],
    )
  }
})

test('every command prints its lines of the help with --help and -h, and does nothing', async () => {
  const { lines } = await run(['help'])
  const names = new Set(lines.flatMap((line) => /^ {2}slipway-server ([a-z]+)/.exec(line)?.slice(1) ?? []))
  names.delete('help')
  assert.ok(names.size > 14, `${names.size}`)
  for (const name of [...names, 'serve'])
    for (const args of [
      [name, '--help'],
      [name, 'x', '-h'],
    ]) {
      const { code, lines: own, stderr } = await run(args, { DATA: '/nonexistent-data' })
      assert.deepEqual([code, stderr], [0, ''], name)
      assert.ok(own.length > 0 && own.every((line) => lines.includes(line)), name)
    }
})

/** A line of arguments of each command in the help, without optional ones. */
const COMPLETE = [
  ...['', 'sweep blobs', 'sweeps', 'account plan a@b.test free', 'account admin a@b.test'],
  ...['account suspend a@b.test --reason x', 'account resume a@b.test', 'account delete a@b.test --reason x'],
  ...['site list', 'site show a', 'site suspend a --reason x', 'site resume a', 'site delete a --reason x'],
  ...['domain release a.test --reason x', 'block network add 192.0.2.1 --reason x'],
  ...['block hash add x --reason x', 'block network remove x', 'block hash list'],
  ...['banner set x', 'banner show', 'invite a@b.test', 'certificates', 'certificates renew all'],
  ...['settings', 'settings share'],
  ...['nodes', 'move --to-data x', 'mail preview code', 'mail test a@b.test', 'backup x', 'backup list x'],
  ...['backup verify x', 'restore x --to-data y', 'check'],
]

test('every command refuses words that it does not take, before it does anything', async () => {
  const { lines } = await run(['help'])
  const known = lines.flatMap((line) => /^ {2}slipway-server ([a-z|]+(?: [a-z|]+)*)/.exec(line)?.[1] ?? [])
  assert.ok(known.length > 25)
  for (const usage of known.filter((one) => !one.startsWith('help'))) {
    const pattern = new RegExp(`^(?:${usage.replaceAll(' ', ') (?:')})(?: |$)`)
    assert.ok(
      COMPLETE.some((line) => pattern.test(line)),
      usage,
    )
  }
  for (const line of COMPLETE) {
    const args = line === '' ? ['serve'] : line.split(' ')
    const { code, stderr } = await run([...args, 'junk'], {
      DATA: '/nowhere',
      ...(line === 'nodes' && {
        ...{ DATABASE_URL: 'postgres://127.0.0.1:1/x', SECRET: 'x'.repeat(32) },
        ...{ BASE_URL: 'https://slipway.example', SMTP_URL: 'smtp://127.0.0.1:1' },
      }),
    })
    assert.equal(code, 2, `${line}: ${stderr}`)
  }
})

const URL_WITH_PASSWORD = 'postgres://user:hush@127.0.0.1:1/slipway'

for (const [args, named] of [
  [['--to-databse', URL_WITH_PASSWORD], '--to-databse'],
  [[`--to-database=${URL_WITH_PASSWORD}`], '--to-database'],
  [[URL_WITH_PASSWORD], 'a value without an option'],
] as const)
  test(`an invalid option of a move is named without the password in its value: ${named}`, async () => {
    const { code, stderr } = await run(['move', ...args])
    assert.equal(code, 2)
    assert.equal(stderr.split('\n')[0]!.split(': ')[1], named)
    assert.doesNotMatch(stderr, /hush/)
  })

for (const [option, value] of [
  ['--to-database', 'mysql://user:hush@host/slipway'],
  ['--to-blobs', 's3:hush'],
] as const)
  test(`a malformed value of an option is refused in one line with the name of the option: ${option}`, async () => {
    const { code, stderr } = await run(['move', '--to-data', 'target', option, value])
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`^slipway-server: ${option}=\\(hidden\\) is not allowed: it .*\n$`))
    assert.doesNotMatch(stderr, /hush/)
  })

test('the target database of a move can be in a variable, which other users of the machine cannot read', async () => {
  const { code, stderr } = await run(['move', '--to-data', 'target'], {
    DATABASE_URL: URL_WITH_PASSWORD,
    MOVE_DATABASE_URL: URL_WITH_PASSWORD,
    SECRET: 'x'.repeat(32),
    BASE_URL: 'https://slipway.example',
    SMTP_URL: 'smtp://mail.example',
  })
  assert.deepEqual([code, stderr.split('\n')[0]], [2, 'The target is where the data are.'])
})

for (const proxyProtocol of ['off', 'private'])
  test(`the health check of the container succeeds until the service stops: PROXY protocol ${proxyProtocol}`, async () => {
    const script = join(import.meta.dirname, '..', '..', 'deploy', 'ready')
    const settings = { PROXY_PROTOCOL: proxyProtocol, READY_SECONDS: '1' }
    const service = await startTestService(settings)
    const check = () =>
      new Promise<number>((resolve) => {
        const own = {
          SLIPWAY_PORT: String(service.port),
          SLIPWAY_PROXY_PROTOCOL: proxyProtocol,
          READY_TIMEOUT: '3600',
          // bash that reads from a socket runs the .bashrc of the user.
          HOME: service.data,
        }
        execFile(script, { env: { PATH: process.env.PATH, ...own } }, (error) => resolve(error ? 1 : 0))
      })
    assert.equal(await check(), 0)
    await rm(join(service.data, 'blobs'), { recursive: true })
    assert.equal(await check(), 0, 'a restart would not bring back the files')
    const stopped = service[Symbol.asyncDispose]()
    assert.equal(await check(), 1, 'a response with 503')
    await stopped
    assert.equal(await check(), 1, 'no response')
  })

test('a command with other settings than the service that ran last changes nothing, and names them', async () => {
  await using folder = await memoryFolder()
  await using target = await memoryFolder()
  const data = join(folder.path, 'data')
  const own = { DATA: data, SECRET: 'a secret of thirty-two characters', BASE_URL: 'https://slipway.example' }
  const serve = async (settings: Record<string, string>) => {
    await using service = await startTestService(settings)
    return service.settings
  }
  const settings = await serve({ ...own, VERSIONS_KEPT: '100' })
  const { SECRET: _secret, ...withoutSecret } = settings
  const { BASE_URL: _baseUrl, ...withoutBaseUrl } = settings
  const { VERSIONS_KEPT: _versionsKept, ...withoutVersions } = settings
  const other = { ...settings, SECRET: 'another secret than the service has' }
  const sweep = ['sweep', 'old-versions']
  const backup = ['backup', target.path]
  for (const [args, given, refusal] of [
    [sweep, settings, ''],
    [sweep, withoutVersions, 'The service has other values of SLIPWAY_VERSIONS_KEPT.'],
    [sweep, withoutSecret, `${join(data, 'secret')} is missing.`],
    [sweep, other, 'The service has other values of SLIPWAY_SECRET.'],
    [['certificates'], withoutBaseUrl, 'The service has other values of SLIPWAY_BASE_URL.'],
    [['certificates', 'renew', 'a.test'], settings, 'The service requests no certificate for a.test.'],
    [['certificates'], withoutVersions, ''],
    [backup, withoutSecret, `${join(data, 'secret')} is missing.`],
    [backup, other, 'The service has other values of SLIPWAY_SECRET.'],
    [['move', '--to-data', target.path], other, 'The service has other values of SLIPWAY_SECRET.'],
    [backup, { ...withoutVersions, BASE_URL: '' }, ''],
  ] as const) {
    const { code, stderr } = await run([...args], given)
    const expected = refusal && `slipway-server: ${refusal}`
    assert.deepEqual(
      [code, stderr.slice(0, expected.length || undefined)],
      [refusal ? 1 : 0, expected],
      `${args}`,
    )
  }
  assert.ok(!(await readdir(data)).includes('secret'), 'no command creates one')
  await serve({ ...own, VERSIONS_KEPT: '50' })
  assert.equal((await run(sweep, settings)).code, 1)
  assert.equal((await run(sweep, { ...settings, VERSIONS_KEPT: '50' })).code, 0)
  assert.equal((await run(['settings', 'share'], settings)).code, 0)
  assert.equal((await run(sweep, settings)).code, 0)
})

test('the script for a clone runs commands with the settings of the service', async () => {
  await using folder = await memoryFolder()
  const root = join(import.meta.dirname, '..', '..')
  const file = join(folder.path, 'slipway.env')
  await writeFile(file, 'SLIPWAY_VERSIONS_KEPT=100\n')
  // A clone may be in a folder whose name has a space; /opt/slipway has none.
  const clone = join(folder.path, 'slipway')
  await symlink(root, clone)
  const script = (await readFile(join(root, 'deploy', 'slipway-server'), 'utf8'))
    .replaceAll('/opt/slipway', clone)
    .replaceAll('/etc/slipway.env', file)
    .replace(/^if .*runuser.*?^fi$/ms, '')
  const { stdout } = spawnSync('/bin/sh', ['-c', script, 'slipway-server', 'settings'], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: folder.path },
    encoding: 'utf8',
  })
  assert.match(stdout, /^SLIPWAY_VERSIONS_KEPT +10 +100 /m)
  assert.match(stdout, /^SLIPWAY_DATA +\S+ +\/var\/lib\/slipway /m)
})

test('the scripts refuse a user who cannot read the settings, with which commands would use the defaults', async () => {
  await using folder = await memoryFolder()
  const root = join(import.meta.dirname, '..', '..')
  const file = join(folder.path, 'slipway.env')
  await writeFile(file, 'SLIPWAY_VERSIONS_KEPT=100\n', { mode: 0 })
  await chmod(folder.path, 0o755)
  for (const name of ['deploy/slipway-server', 'deploy/debian/slipway-server']) {
    const script = (await readFile(join(root, name), 'utf8')).replace(
      /\/etc\/slipway(\/slipway)?\.env/g,
      file,
    )
    const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', script, 'slipway-server', 'settings'], {
      encoding: 'utf8',
      // Root could read it.
      ...(process.getuid!() === 0 && { uid: 65_534 }),
    })
    assert.deepEqual([status, stdout], [1, ''], name)
    assert.match(stderr, /^slipway-server: This user cannot read \S+ Run the command as root: sudo/)
  }
})

test('the settings of the container, which include secrets, are neither committed nor copied into the image', async () => {
  for (const file of ['.gitignore', 'deploy/Dockerfile.dockerignore']) {
    const lines = (await readFile(join(import.meta.dirname, '..', '..', file), 'utf8')).split('\n')
    assert.ok(lines.includes('deploy/.env'), file)
  }
})

test('the list of settings has the default and the value in effect in aligned columns, without secrets', async () => {
  const { lines } = await run(['settings'], {
    PLAN_FREE: 'Staff',
    SMTP_URL: 'smtp://user:hush@mail.test',
    ACME_URL: 'https://user:hush@ca.test',
  })
  assert.match(lines[0]!, /^NAME +DEFAULT +VALUE +MEANING$/)
  const column = lines[0]!.indexOf('VALUE')
  const findValue = (name: string) =>
    lines
      .find((line) => line.startsWith(`${name} `))!
      .slice(column)
      .split('  ')[0]
  assert.equal(findValue('SLIPWAY_PLAN_FREE'), 'Staff')
  assert.equal(findValue('SLIPWAY_PLAN_HOBBY'), 'Hobby')
  assert.equal(findValue('SLIPWAY_SMTP_URL'), '(hidden)')
  assert.equal(findValue('SLIPWAY_ACME_URL'), '(hidden)@ca.test')
  assert.doesNotMatch(lines.join(), /hush/)
})

test('sweep all deletes no stored files that the database does not know, which sweep unnamed does', async () => {
  await using data = await memoryFolder()
  await writeEmptyDatabase(data.path)
  const folder = join(data.path, 'blobs', 'ab')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'ab12-00000000-0123456789ab'), 'a file of 1970')
  const settings = { DATA: data.path, SECRET: 'a secret of more than 32 characters' }
  const all = await run(['sweep', 'all'], settings)
  assert.equal(all.code, 0)
  assert.ok(all.lines.includes('unnamed: 0'))
  assert.match(all.lines.join('\n'), /run slipway-server sweep unnamed/)
  assert.deepEqual((await run(['sweep', 'unnamed'], settings)).lines, ['unnamed: 1'])
})

test('sweep all runs the other sweeps when one fails, and exits with 1', async () => {
  await using data = await memoryFolder()
  await writeEmptyDatabase(data.path)
  using database = new DatabaseSync(join(data.path, 'slipway.db'))
  database.exec('drop table accepted_scans')
  const settings = { DATA: data.path, SECRET: 'a secret of more than 32 characters' }
  const { code, lines, stderr } = await run(['sweep', 'all'], settings)
  assert.deepEqual([code, lines.length], [1, sweeps.length])
  assert.match(stderr, /no such table: accepted_scans/)
  assert.match(lines.join('\n'), /^scans: failed: no such table/m)
})
