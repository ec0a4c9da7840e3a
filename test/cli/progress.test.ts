import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { describe, it, test } from 'node:test'
import { ProgressView, progressLine } from '../../client/cli/terminal/progress.ts'
import { fitTable, formatTable } from '../../client/cli/terminal/table.ts'
import { Terminal } from '../../client/cli/terminal/terminal.ts'

test('rows of a table are aligned in columns', () => {
  const rows = [
    ['a', 'bb'],
    ['ccc', 'd'],
  ]
  assert.deepEqual(formatTable(rows), ['a    bb', 'ccc  d'])
})

test('rows of a table fit into a terminal, by a shortened title and without its least important columns', () => {
  const rows = [
    ['NAME', 'SIZE', 'TITLE'],
    ['bakery', '10.5 MB', 'Marlow Street Bakery'],
  ]
  const fit = (width: number) => fitTable(rows, ['SIZE', 'TITLE'])(width)[1]
  assert.equal(fit(37), 'bakery  10.5 MB  Marlow Street Bakery')
  assert.equal(fit(36), 'bakery  10.5 MB  Marlow Street Bake…')
  assert.equal(fit(29), 'bakery  10.5 MB  Marlow Stre…')
  assert.equal(fit(28), 'bakery  Marlow Street Bakery')
  assert.equal(fit(20), 'bakery  Marlow Stre…')
  assert.equal(fit(19), 'bakery')
})

describe('external text on a terminal', () => {
  // C0 with line feeds, DEL, C1, and characters that change the direction of text.
  const text = 'a\u001b]0;x\u0007\r\n\t\u0000\u007f\u0085\u009b2J\u061c\u200e\u200f\u202e\u2066z'
  const clean = text.replaceAll(/[^a-z0-9;\]J]/g, '\uFFFD')
  const start = (typed: string) => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
    for (const stream of Object.values(streams)) Object.assign(stream, { isTTY: true })
    streams.stdin.end(typed)
    const terminal = new Terminal(streams, { color: true, signal: new AbortController().signal })
    const chunks: string[] = []
    for (const stream of [streams.stdout, streams.stderr])
      stream.on('data', (chunk) => chunks.push(String(chunk)))
    const output = async () => {
      await Promise.all([streams.stdout, streams.stderr].map((stream) => finished(stream.end())))
      return chunks.join('')
    }
    return { terminal, output }
  }
  it('is the answer of one question only, also of one without echo', async () => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
    Object.assign(streams.stdin, { isTTY: true })
    const terminal = new Terminal(streams, { color: false, signal: new AbortController().signal })
    const answers: string[] = []
    for (const [method, typed] of [
      ['prompt', '1'],
      ['promptSecret', 'sesame'],
      ['prompt', '2'],
    ] as const) {
      const answer = terminal[method]('?')
      streams.stdin.write(`${typed}\n`)
      answers.push(await answer)
    }
    terminal.close()
    assert.deepEqual(answers, ['1', 'sesame', '2'])
  })

  it('is not awaited after a signal', async () => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
    const stop = new AbortController()
    const terminal = new Terminal(streams, { color: false, signal: stop.signal })
    for (const method of ['promptSecret', 'prompt'] as const) {
      const answer = terminal[method]('?')
      stop.abort()
      await assert.rejects(answer, { name: 'AbortError' })
    }
  })

  const green = (mark: string) => `\u001b[32m${mark}\u001b[39m`
  const red = (mark: string) => `\u001b[31m${mark}\u001b[39m`
  const printed: [method: keyof Terminal, output: string][] = [
    ['print', `${clean}\n`],
    ['printRows', `${clean}\n`],
    ['printNote', `${clean}\n`],
    ['printDone', `${green('✓')} ${clean}\n`],
    ['printProblem', `${red('✗')} ${clean}\n`],
    ['printError', `${red('Error:')} ${clean}\n`],
    ['draw', `\r\u001b[K${clean}`],
    ['prompt', `${clean} `],
    ['promptSecret', `${clean} \n`],
  ]
  for (const [method, expected] of printed) {
    it(`has no control characters when ${method} prints it, and marks have colors`, async () => {
      const { terminal, output } = start('typed\n')
      await (terminal[method] as (text: unknown) => unknown)(method === 'printRows' ? () => [text] : text)
      assert.equal(await output(), expected)
    })
  }

  it('is escaped in JSON, so that a program reads it as it is', async () => {
    const { terminal, output } = start('')
    terminal.printJson({ text })
    const json = await output()
    assert.doesNotMatch(json, /[^\P{C}\n]/u)
    assert.deepEqual(JSON.parse(json), { text })
  })

  it('is printed by every method of the terminal, as tested here', () => {
    const methods = Object.getOwnPropertyNames(Terminal.prototype)
    const others = ['constructor', 'width', 'close', 'printJson']
    assert.deepEqual(
      methods.filter((name) => !others.includes(name)).sort(),
      printed.map(([name]) => name).sort(),
    )
  })
})

describe('progress', () => {
  const half = { files: 1000, filesDone: 412, bytes: 10e6, bytesDone: 5e6 }

  const lines: [sentence: string, elapsedMs: number, columns: number, line: string][] = [
    [
      'shows files, bytes and the remaining time',
      ...([4000, 100] as const),
      'Uploading ████████████░░░░░░░░░░░░ 412 of 1,000 files · 5.0 MB of 10 MB · 4 s left',
    ],
    [
      'does not show the remaining time before it can be estimated',
      ...([300, 100] as const),
      'Uploading ████████████░░░░░░░░░░░░ 412 of 1,000 files · 5.0 MB of 10 MB',
    ],
    ['fits into a narrow window', 4000, 40, 'Uploading 50%'],
  ]
  for (const [sentence, elapsedMs, columns, line] of lines) {
    it(sentence, () => assert.equal(progressLine('Uploading', half, elapsedMs, columns), line))
  }

  it('is a bar on a terminal, redrawn in place at a limited rate', () => {
    const { view, output, at } = display(true)
    view.show(half)
    at(10)
    view.show(half)
    at(100)
    view.show(half)
    assert.equal(output().split('\r').length - 1, 2)
    assert.doesNotMatch(output(), /\n/)
  })
  it('is a line every few seconds without a terminal, and none when it ends before', () => {
    const { view, output, at } = display(false)
    for (let done = 0; done <= 90; done++) {
      at(done * 100)
      view.show({ files: 100, filesDone: done, bytes: 100_000, bytesDone: done * 1000 })
    }
    assert.equal(output(), '  Uploading 50 of 100 files · 50 kB of 100 kB · 5 s left\n')
    at(20_000)
    view.show({ files: 1, filesDone: 0, bytes: 1000, bytesDone: 0 })
    assert.match(output(), /Uploading 0 of 1 file · /)
  })

  it('shows why it is paused until it continues, in place of a bar', () => {
    const { view, output, at } = display(false)
    view.show(half)
    view.stall('Nothing answers')
    view.stall('Nothing answers')
    assert.equal(output(), '  Nothing answers. Retrying…\n')
    at(10_000)
    view.show(half)
    assert.doesNotMatch(output(), /files/)
    view.show({ ...half, bytesDone: half.bytesDone + 1 })
    assert.match(output(), /412 of 1,000 files/)
    const bar = display(true)
    bar.view.show(half)
    bar.view.stall('Nothing answers')
    assert.ok(bar.output().endsWith('\r\u001b[KNothing answers. Retrying…'))
  })

  it('is no line that is replaced on a terminal that cannot', () => {
    const { view, at, output } = display(true, false)
    for (const time of [0, 6_000]) {
      at(time)
      view.show({ files: 2, filesDone: 1, bytes: 2, bytesDone: 1 })
    }
    assert.ok(!/\r/.test(output()), output())
    assert.match(output(), /1 of 2/)
  })

  function display(isTTY: boolean, redraws = true) {
    let now = 0
    const stderr = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns: 100 })
    let output = ''
    stderr.on('data', (text) => {
      output += text
    })
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr }
    const terminal = new Terminal(streams, { color: false, redraws, signal: new AbortController().signal })
    const view = new ProgressView(terminal, 'Uploading', () => now)
    const at = (time: number) => {
      now = time
    }
    return { view, at, output: () => output }
  }
})
