import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { ApiError } from '../../server/lib/errors.ts'
import { readArchive } from '../../server/publish/archive/archive.ts'
import { pluck } from '../support/pluck.ts'
import { KIB, MIB } from '../support/units.ts'
import { counted, split, toStream } from './bodies.ts'
import { buildArchive, KINDS } from './build-archive.ts'
import { noise } from './bytes.ts'
import { drain, options, read, spoolFolder } from './reading.ts'
import { tarPart } from './tar-file.ts'
import { zip } from './zip-file.ts'

describe('reading', () => {
  const small = Array.from({ length: 50 }, (_, index) => ({ name: `f${index}`, data: noise(100 + index) }))
  const large = { name: 'large', data: noise(MIB) }

  for (const kind of KINDS) {
    test(`${kind}: small files are handled concurrently, at most 16`, async () => {
      let running = 0
      let most = 0
      const several = Promise.withResolvers<void>()
      await readArchive(options(kind, toStream([buildArchive(kind, small)])), async (file) => {
        running++
        most = Math.max(most, running)
        if (running === 16) several.resolve()
        await several.promise
        await drain(file)
        running--
      })
      assert.equal(most, 16)
    })

    test(`${kind}: unread files are skipped`, async () => {
      const paths: string[] = []
      const files = [large, ...small.slice(0, 3), { ...large, name: 'last' }]
      await readArchive(options(kind, toStream([buildArchive(kind, files)])), async ({ path, body }) => {
        paths.push(path)
        if (path === 'last') for await (const _ of body) break
      })
      assert.deepEqual(paths, pluck(files, 'name'))
    })

    for (const [what, files] of [
      ['a small file', small],
      ['a large file', [large, ...small]],
    ] as const) {
      test(`${kind}: an error of the handler of ${what} ends reading with that error`, async () => {
        const reason = new Error('disk full')
        const body = toStream(split(buildArchive(kind, [...files]), () => 1000))
        let running = 0
        let calls = 0
        const reading = readArchive(options(kind, body), async () => {
          calls++
          running++
          await new Promise(setImmediate)
          running--
          throw reason
        })
        await assert.rejects(reading, (error) => error === reason)
        assert.equal(running, 0)
        const settled = calls
        await drain({ body })
        assert.equal(calls, settled)
        assert.ok(calls <= 16)
      })
    }

    test(`${kind}: an error does not wait for a client that stopped sending`, async () => {
      const archive = buildArchive(kind, small.slice(0, 3))
      const body = new Readable({ read() {} })
      body.push(kind === 'zip' ? archive : archive.subarray(0, -20))
      if (kind === 'zip') body.push(null)
      const reading = readArchive(options(kind, body), async () => {
        for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
        throw new Error('disk full')
      })
      await assert.rejects(reading, /disk full/)
      assert.equal(body.listenerCount('readable') + body.listenerCount('end'), 0)
    })

    for (const [what, files] of Object.entries({ 'between files': small, 'in a file': [large] })) {
      test(`${kind}: a client that disconnects ${what} ends reading with that error`, async () => {
        const reset = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
        const archive = buildArchive(kind, [...files])
        const body = new Readable({ read() {} })
        body.push(archive.subarray(0, archive.length >> 1))
        const started = Promise.withResolvers<void>()
        if (kind === 'zip') started.resolve()
        const reading = readArchive(options(kind, body), async (file) => {
          started.resolve()
          await drain(file)
        })
        void started.promise.then(() => body.destroy(reset))
        await assert.rejects(reading, (error) => error === reset)
        assert.deepEqual(readdirSync(spoolFolder), [])
      })
    }

    test(`${kind}: a body that was closed before its end is refused`, async () => {
      const body = new Readable({ read() {} })
      body.push(buildArchive(kind, small).subarray(0, 600))
      setImmediate(() => body.destroy())
      await assert.rejects(read(kind, body), /incomplete/)
      await assert.rejects(read(kind, body), /incomplete/)
    })

    test(`${kind}: no file handle and no spool file remains`, async (t) => {
      if (!existsSync('/proc/self/fd')) return t.skip('handles cannot be counted here')
      const archive = buildArchive(kind, [large, ...small])
      await read(kind, archive)
      const before = readdirSync('/proc/self/fd').length
      for (const each of [() => Promise.resolve(), () => Promise.reject(new Error('disk full'))]) {
        await read(kind, archive, { each }).catch(() => {})
        await read(kind, archive.subarray(0, -50), { each }).catch(() => {})
      }
      assert.equal(readdirSync('/proc/self/fd').length, before)
      assert.deepEqual(readdirSync(spoolFolder), [])
    })
  }

  for (const kind of ['tar', 'tar.gz'] as const) {
    test(`${kind}: a large file is not read ahead of its handler`, async () => {
      const huge = { name: 'huge', data: Buffer.alloc(6 * MIB, noise(MIB)) }
      const { body, taken } = counted(split(buildArchive(kind, [huge]), () => 64 * KIB))
      let early = 0
      await readArchive(options(kind, body), async (file) => {
        for await (const _ of file.body) {
          if (early > 0) continue
          for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
          early = taken()
        }
      })
      assert.ok(early > 0 && early < 2 * MIB, `${early} bytes were taken for the first piece`)
    })
  }

  for (const [kind, archive] of [
    ['tar', tarPart({ name: 'a', data: Buffer.alloc(MIB) }).subarray(0, MIB / 2)],
    ['zip', zip([{ name: 'a', data: Buffer.alloc(MIB), crc32: 1 }])],
  ] as const)
    test(`${kind}: a connection error is reported, even when the handler fails with something else or ignores it`, async () => {
      for (const recover of [() => Promise.reject(new Error('upload failed')), () => Promise.resolve()]) {
        const reading = readArchive(options(kind, toStream([archive])), (file) => drain(file).catch(recover))
        await assert.rejects(reading, (error) => error instanceof ApiError && error.message.startsWith('a: '))
      }
    })
})
