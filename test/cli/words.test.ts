import assert from 'node:assert/strict'
import { PassThrough, Writable } from 'node:stream'
import { describe, it } from 'node:test'
import { ProgressView, progressLine } from '../../client/cli/terminal/progress.ts'
import { Terminal } from '../../client/cli/terminal/terminal.ts'
import {
  formatBytes,
  formatDuration,
  formatTable,
  formatUtc,
  pluralize,
  stripControlChars,
  summarizeNames,
} from '../../protocol/format.ts'

describe('figures in words', () => {
  it('counts', () => {
    assert.deepEqual(
      [pluralize(0, 'file'), pluralize(1, 'file'), pluralize(1204, 'file')],
      ['0 files', '1 file', '1,204 files'],
    )
  })
  it('sizes', () => {
    const sizes = [1, 940, 1000, 3_940_000, 9_960_000, 12_300_000, 999_600, 5e9]
    const words = ['1 byte', '940 bytes', '1.0 KB', '3.9 MB', '10 MB', '12 MB', '1.0 MB', '5.0 GB']
    assert.deepEqual(sizes.map(formatBytes), words)
  })
  it('spans of time', () => {
    assert.deepEqual([0.2, 42, 150, 86_400, 604_800].map(formatDuration), [
      '1 s',
      '42 s',
      '3 min',
      '24 hours',
      '7 days',
    ])
  })
  it('moments', () => assert.equal(formatUtc('2030-01-02T03:04:05.678Z'), '2030-01-02 03:04 UTC'))
  it('names in a short line', () => {
    assert.deepEqual(summarizeNames(['a/.DS_Store', 'b/.DS_Store', 'node_modules/']), {
      shown: '.DS_Store (2), node_modules/',
      more: 0,
    })
    assert.deepEqual(summarizeNames(['1', '2', '3', '4'], 2), { shown: '1, 2', more: 2 })
  })
  it('nothing that would move the cursor', () => {
    assert.equal(stripControlChars('\u001b[2Jhello\r\n'), '\uFFFD[2Jhello\uFFFD\uFFFD')
  })
  it('rows in columns', () =>
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

  it('shows files, bytes and the time left', () => {
    const line = progressLine('Uploading', half, 4000, 100)
    assert.equal(line, 'Uploading ████████████░░░░░░░░░░░░ 412 of 1,000 files · 5.0 MB of 10 MB · 4 s left')
  })
  it('says nothing about the time left before it can know', () => {
    assert.doesNotMatch(progressLine('Uploading', half, 300, 100), /left/)
  })
  it('fits into a narrow window', () => {
    assert.equal(progressLine('Uploading', half, 4000, 40), 'Uploading 50%')
  })

  it('is a bar on a terminal, drawn over and not too often', () => {
    const { view, said, at } = display(true)
    view.show(half)
    at(10)
    view.show(half)
    at(100)
    view.show(half)
    assert.equal(said().split('\r').length - 1, 2)
    assert.doesNotMatch(said(), /\n/)
  })
  it('is a line every few seconds elsewhere, and none when it is over before', () => {
    const { view, said, at } = display(false)
    for (let done = 0; done <= 90; done++) {
      at(done * 100)
      view.show({ files: 100, filesDone: done, bytes: 100_000, bytesDone: done * 1000 })
    }
    assert.equal(said(), '  50 of 100 files · 50 KB of 100 KB · 5 s left\n')
  })

  it('says why it stands still until it goes on', () => {
    const { view, said, at } = display(false)
    view.show(half)
    view.stall('Nothing answers')
    view.stall('Nothing answers')
    assert.equal(said(), '  Nothing answers; trying again\n')
    at(10_000)
    view.show(half)
    assert.doesNotMatch(said(), /files/)
    view.show({ ...half, bytesDone: half.bytesDone + 1 })
    assert.match(said(), /412 of 1,000 files/)
  })
  it('says why it stands still in the place of the bar', () => {
    const { view, said } = display(true)
    view.show(half)
    view.stall('Nothing answers')
    assert.ok(said().endsWith('\r\u001b[KNothing answers; trying again'))
  })

  function display(isTTY: boolean) {
    let now = 0
    let said = ''
    const sink = new Writable({
      write(chunk, _encoding, done) {
        said += chunk
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
    return { view, at, said: () => said }
  }
})
