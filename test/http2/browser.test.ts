import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { noise } from '../edge/fixture.ts'
import { type Browser, openBrowser } from '../support/browser.ts'
import { requires } from '../tools/part.ts'
import { ENGINE_NAMES, Http2Fixture } from './http2-fixture.ts'

const inBrowser = requires('chromium')

for (const engine of ENGINE_NAMES)
  describe(`with the engine ${engine}`, () => {
    let fixture: Http2Fixture
    let browser: Browser
    let site: string

    before(async () => {
      if (inBrowser.skip) return
      fixture = await Http2Fixture.start({ engine })
      const slug = await fixture.edge.publish({
        'index.html': '<!doctype html><link rel="icon" href="data:,"><title>Gallery</title>',
        'big.bin': noise(2_000_000),
        'small.bin': noise(40_000),
      })
      site = `https://${fixture.edge.host(slug)}:${fixture.port}/`
      browser = await openBrowser(
        '--ignore-certificate-errors',
        '--host-resolver-rules=MAP *.sites.test 127.0.0.1',
      )
    })
    after(async () => {
      await browser?.[Symbol.asyncDispose]()
      await fixture?.[Symbol.asyncDispose]()
    })

    test('a page that cancels its downloads gets all its other responses', inBrowser, async () => {
      await browser.page.goto(site)
      const results = await browser.page.evaluate(async () => {
        const failed: string[] = []
        let cancelled = 0
        for (let round = 0; round < 12; round++) {
          const cancel = new AbortController()
          const downloads = Array.from({ length: 30 }, async (_, index) => {
            const response = await fetch(`/big.bin?${round}-${index}`, { signal: cancel.signal })
            await response.arrayBuffer()
          })
          const wanted = Array.from({ length: 3 }, async (_, index) => {
            const response = await fetch(`/small.bin?${round}-${index}`)
            if ((await response.arrayBuffer()).byteLength !== 40_000)
              throw new Error('the response is truncated')
          })
          // At this point some responses have begun, and some have not.
          await Promise.any([...wanted, ...downloads])
          cancel.abort()
          for (const { status } of await Promise.allSettled(downloads)) if (status === 'rejected') cancelled++
          for (const outcome of await Promise.allSettled(wanted))
            if (outcome.status === 'rejected') failed.push(`round ${round}: ${outcome.reason}`)
        }
        const [{ nextHopProtocol } = { nextHopProtocol: '' }] = performance.getEntriesByType(
          'navigation',
        ) as PerformanceNavigationTiming[]
        return { failed, cancelled, nextHopProtocol }
      })
      assert.deepEqual(results.failed, [])
      assert.ok(results.cancelled > 200, `${results.cancelled} downloads were cancelled`)
      assert.equal(results.nextHopProtocol, 'h2')
      assert.equal(fixture.sockets.filter((socket) => !socket.destroyed).length, 1)
    })
  })
