import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { Report } from './report.ts'
import { root } from './root.mjs'
import { SharedServers } from './shared-servers.ts'
import { type Problem, runTestGroup, shortenOutput } from './test-group.ts'

describe('a group of tests', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'slipway-group-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  /** Runs a file with these tests. */
  async function run(source: string, title?: string) {
    const file = join(folder, 'some.test.mjs')
    writeFileSync(file, `import { describe, test } from 'node:test'\n${source}`)
    const seen = { passed: 0, failed: [] as Problem[], skipped: [] as Problem[] }
    const listener = {
      started: () => undefined,
      passed: () => void seen.passed++,
      failed: (problem: Problem) => void seen.failed.push(problem),
      skipped: (problem: Problem) => void seen.skipped.push(problem),
      time: () => undefined,
    }
    const group = { name: 'some tests', files: [relative(root, file)] }
    const stop = new AbortController().signal
    const end = await runTestGroup(group, { servers: new SharedServers({}), stop, listener, title, env: {} })
    return { ...seen, ...end }
  }

  test('reports each failure with its titles and line, and each skip with its reason', async () => {
    const { passed, failed, skipped } = await run(`
      describe('a suite', () => {
        test('works', () => {})
        test('breaks', () => { throw new Error('this is why') })
        test('needs a part', { skip: 'needs a part' }, () => {})
      })`)
    assert.equal(passed, 1)
    assert.equal(failed.length, 1)
    assert.deepEqual(failed[0]!.test!.titles, ['a suite', 'breaks'])
    assert.equal(failed[0]!.test!.line, 5)
    assert.match(failed[0]!.why, /^Error: this is why/)
    assert.deepEqual(
      skipped.map(({ why }) => why),
      ['needs a part'],
    )
  })

  test('runs those of one suite by its title', async () => {
    const source = ['one', 'two'].map(
      (name) => `describe('${name}', () => test('breaks', () => { throw new Error('${name}') }))`,
    )
    const { failed } = await run(source.join('\n'), 'two › breaks')
    assert.deepEqual(
      failed.map(({ test }) => test!.titles),
      [['two', 'breaks']],
    )
  })

  test('that ends before its tests fails, with what it printed', async () => {
    const { failed, printed } = await run(`
      test('ends the process', () => { console.log('last words'); process.exit(3) })
      test('never runs', () => {})`)
    assert.equal(failed.length, 1)
    assert.match(failed[0]!.why, /ended with exit code 3, before the end of its tests/)
    assert.match(printed, /last words/)
  })

  test('that waits for something whose error no test receives ends immediately, and names its test', async () => {
    const { failed } = await run(`
      test('waits', () => new Promise(() => setImmediate(() => { throw new Error('lost') })))
      test('never runs', () => {})`)
    assert.equal(failed.length, 1)
    assert.deepEqual(failed[0]!.test!.titles, ['waits'])
    assert.match(failed[0]!.why, /^Error: lost(.|\n)*no test received it/)
  })

  test('ends when its tests have ended, whatever its process still waits for', async () => {
    const { passed, failed } = await run(`
      test('leaves a timer behind', () => { setTimeout(() => {}, 3_600_000) })`)
    assert.deepEqual({ passed, failed }, { passed: 1, failed: [] })
  })

  test('reports every test to a runner that is too busy to listen', async () => {
    const marker = join(folder, 'the-tests-have-ended')
    const running = run(`
      import { writeFileSync } from 'node:fs'
      for (let index = 0; index < 3000; index++) test('test ' + index, () => {})
      test('the last', () => writeFileSync(${JSON.stringify(marker)}, ''))`)
    while (!existsSync(marker));
    const { passed, failed } = await running
    assert.deepEqual({ passed, failed }, { passed: 3001, failed: [] })
  })

  test('runs the test of a title only', async () => {
    const { passed, failed } = await run(
      `
      test('one (of two)', () => {})
      test('fails', () => { throw new Error() })`,
      'one (of two)',
    )
    assert.deepEqual({ passed, failed }, { passed: 1, failed: [] })
  })

  test('ends without a failure where no test has the title, whatever its hooks would end', async () => {
    const { passed, failed } = await run(
      `
      import { after, before } from 'node:test'
      const started = Promise.withResolvers()
      before(() => started.resolve())
      after(() => started.promise)
      test('one', () => {})`,
      'another',
    )
    assert.deepEqual({ passed, failed }, { passed: 0, failed: [] })
  })
})

for (const [given, says] of [
  [['--nonsense'], /^Unknown option '--nonsense'\n\n.*--changed/s],
  [['--name'], /^Option '--name <value>' argument missing\n\n.*--changed/s],
] as const)
  test(`the runner answers ${given.join(' ')} with what it knows`, async () => {
    const { code, stderr } = await runChecks([...given])
    assert.match(stderr, says)
    assert.equal(code, 2)
  })

test('a path of tests that run with --nightly only is a failure that says so', async () => {
  const { code, stdout } = await runChecks(['firefox.nightly'])
  assert.match(stdout, /firefox\.nightly in its path, except those of the nightly run: add --nightly/)
  assert.equal(code, 1)
})

test('a path that no test file has is a failure with a suggestion, also beside another one', async () => {
  const { code, stdout } = await runChecks(['scripts/wording', 'lib/hsts', 'scripts/wordign'])
  const why = 'no test file has scripts/wordign in its path; did you mean wording?'
  const end = stdout.slice(stdout.lastIndexOf('FAILED  '))
  assert.ok(end.startsWith(`FAILED  the run: ${why}\n\nended after `), end)
  assert.match(end, /\d passed, 1 failed\n$/)
  assert.equal(code, 1)
})

test('an interrupted run says so, fails nothing, and leaves nothing in the temporary folder', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'slipway-interrupted-'))
  const changes = watch(parent)
  const isStarted = once(changes, 'change')
  const child = spawn(process.execPath, [join(root, 'scripts/run-checks.ts'), 'protocol/'], {
    env: { ...process.env, CI: '', TEST_TEMPORARY: parent },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  await isStarted
  changes.close()
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  const [stdout, stderr] = await output
  assert.equal(stderr, '')
  assert.match(stdout, /^interrupted after 0:\d\d, running: .+\n\d+ passed, 0 failed\n$/m)
  assert.equal(code, 130)
  assert.equal(existsSync(join(parent, `slipway-tests-${child.pid}`)), false)
  rmSync(parent, { recursive: true })
})

async function runChecks(args: string[]) {
  const child = spawn(process.execPath, [join(root, 'scripts/run-checks.ts'), ...args], {
    env: { ...process.env, CI: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  return { code, stdout: stripVTControlCharacters(stdout), stderr }
}

test('the report of a failure has the last lines that its process printed', () => {
  const lines = shortenOutput(Array.from({ length: 200 }, (_, index) => `line ${index}`).join('\n')).split(
    '\n',
  )
  assert.equal(lines.at(-1), 'line 199')
  assert.ok(lines.length < 100)
})

test('a failure is printed when it happens, with the command that repeats exactly it, and skips are counted', (t) => {
  const printed: string[] = []
  t.mock.method(console, 'log', (text: string) => printed.push(stripVTControlCharacters(text)))
  const report = new Report({ strict: false, seed: 7, total: 1, flags: ['--nightly'] })
  report.passed()
  report.failed({
    test: { file: 'a.test.ts', line: 3, titles: ['a suite', "doesn't work"] },
    why: 'this is why',
  })
  const command = "SEED=7 npm test -- a.test.ts --nightly --name 'a suite › doesn'\\''t work'"
  const failure = "FAILED  a.test.ts:3  a suite › doesn't work"
  assert.deepEqual(printed, [`\n${failure}\n    this is why\n    to repeat it: ${command}\n`])
  for (const line of [1, 2])
    report.skipped({
      test: { file: 'b.test.ts', line, titles: ['is large'] },
      why: 'needs a part: apt-get install it',
    })
  assert.equal(report.end({ interrupted: false }), false)
  const skips = 'b.test.ts:1  is large\n    b.test.ts:2  is large'
  assert.ok(printed.includes(`\nskipped  2, needs a part: apt-get install it\n    ${skips}`))
  assert.equal(printed.at(-1), '1 passed, 1 failed, 2 skipped')
})

test('a test that runs for a minute is named in the progress, and when the run is interrupted', (t) => {
  const printed: string[] = []
  t.mock.method(console, 'log', (text: string) => printed.push(text.trim()))
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const report = new Report({ strict: false, seed: 7, total: 2, flags: [] })
  report.started('lint')
  report.started('test/a')
  const [short, long] = [3, 9].map((line) => ({ file: 'test/a/b.test.ts', line, titles: ['works'] }))
  for (const [test, seconds] of [
    [short, 59],
    [long, 60],
  ] as const) {
    report.started('test/a', test)
    now += seconds * 1000
    t.mock.timers.tick(30_000)
  }
  report.end({ interrupted: true })
  assert.deepEqual(printed.filter(Boolean).slice(0, 3), [
    '0/2, 0:59, 0 passed, running: lint, test/a',
    '0/2, 1:59, 0 passed, running: lint, test/a (test/a/b.test.ts:9 for 1:00)',
    'interrupted after 1:59, running: lint, test/a (test/a/b.test.ts:9 for 1:00)',
  ])
})
