import assert from 'node:assert/strict'
import { PassThrough, Writable } from 'node:stream'
import { describe, it } from 'node:test'
import { ProgressView, progressLine } from '../../client/cli/terminal/progress.ts'
import { formatTable } from '../../client/cli/terminal/table.ts'
import { Terminal } from '../../client/cli/terminal/terminal.ts'

describe('formatting lists', () => {
  it('aligns rows in columns', () =>
    assert.deepEqual(
      formatTable([
        ['a', 'bb'],
        ['ccc', 'd'],
      ]),
      ['a    bb', 'ccc  d'],
    ))
})

describe('progress', () => {
  const half = { files: 1000, filesDone: 412, bytes: 10e6, bytesDone: 5e6 }

  it('shows files, bytes and the remaining time', () => {
    const line = progressLine('Uploading', half, 4000, 100)
    assert.equal(line, 'Uploading ████████████░░░░░░░░░░░░ 412 of 1,000 files · 5.0 MB of 10 MB · 4 s left')
  })
  it('does not show the remaining time before it can be estimated', () => {
    assert.doesNotMatch(progressLine('Uploading', half, 300, 100), /left/)
  })
  it('fits into a narrow window', () => {
    assert.equal(progressLine('Uploading', half, 4000, 40), 'Uploading 50%')
  })

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
    assert.equal(output(), '  50 of 100 files · 50 kB of 100 kB · 5 s left\n')
  })

  it('shows why it is paused until it continues', () => {
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
  })
  it('shows why it is paused in place of the bar', () => {
    const { view, output } = display(true)
    view.show(half)
    view.stall('Nothing answers')
    assert.ok(output().endsWith('\r\u001b[KNothing answers. Retrying…'))
  })

  function display(isTTY: boolean) {
    let now = 0
    let output = ''
    const sink = new Writable({
      write(chunk, _encoding, done) {
        output += chunk
        done()
      },
    })
    const stderr = Object.assign(sink, { isTTY, columns: 100 })
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr }
    const terminal = new Terminal(streams, { colour: false, signal: new AbortController().signal })
    const view = new ProgressView(terminal, 'Uploading', () => now)
    const at = (time: number) => {
      now = time
    }
    return { view, at, output: () => output }
  }
})
