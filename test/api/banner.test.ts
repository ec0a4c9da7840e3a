import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BannerRequest } from '../../protocol/api/admin/banner.schema.ts'
import { BANNER_HEADER, decodeBanner } from '../../protocol/api/banner.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { waitFor } from '../support/wait-for.ts'
import { administrator } from './administrator.ts'
import { HOUR_MS, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'

const api = await startApi({ RATE_ANONYMOUS: '10000' })
const { key } = await administrator(api)
const admin = (method: string, json?: BannerRequest) => {
  api.pass()
  return api.request(method, '/api/admin/banner', { key, json })
}
const HOSTILE = `Maintenance at 9 o'clock: <b>"storage"</b> & more </script> €`
const at = (milliseconds: number) => new Date(api.running.clock.now + milliseconds).toISOString()

async function received() {
  const { headers } = await api.request('GET', '/api/v1/names/bakery', { key })
  const value = headers[BANNER_HEADER.toLowerCase()]
  return value === undefined ? undefined : decodeBanner(String(value))
}

/** The banner that a program and the dashboard get. */
async function shown() {
  const page = await api.request('GET', '/sign-in', { headers: { accept: 'text/html' } })
  const [, settings = ''] = /<meta name="slipway" content="([^"]*)">/.exec(page.body.toString()) ?? []
  const { banner } = JSON.parse(settings.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code)))
  assert.deepEqual(banner, await received())
  return banner
}

describe('the banner of the operator', () => {
  test('is on all pages and in all responses of the API from its beginning to its end', async () => {
    assert.equal(await shown(), undefined)
    const link = 'https://status.example.com/?a="b"'
    const request = {
      text: ` ${HOSTILE} `,
      level: 'warning',
      link,
      from: at(HOUR_MS),
      until: at(2 * HOUR_MS),
    } as const
    const { status, json } = await admin('PUT', request)
    assert.deepEqual([status, json.banner], [200, { ...request, text: HOSTILE }])
    assert.equal(await shown(), undefined)
    api.pass(HOUR_MS)
    assert.deepEqual(await shown(), { level: 'warning', text: HOSTILE, link })
    const refused = await api.request('GET', '/api/v1/publishes', { key: 'sl_live_unknown' })
    assert.equal(decodeBanner(String(refused.headers[BANNER_HEADER.toLowerCase()]))?.text, HOSTILE)
    api.pass(HOUR_MS)
    assert.equal(await shown(), undefined)
    assert.deepEqual((await admin('GET')).json.banner.text, HOSTILE)
    await admin('PUT', { text: 'Short' })
    assert.deepEqual(await shown(), { level: 'info', text: 'Short', link: null })
    assert.deepEqual((await admin('DELETE')).json, { banner: null })
    assert.equal(await shown(), undefined)
    const log = await api.request('GET', '/api/admin/audit?limit=3', { key })
    assert.deepEqual(
      log.json.rows.map(({ action, details }: { action: string; details?: { text: string } }) => [
        action,
        details?.text,
      ]),
      [
        ['banner.clear', undefined],
        ['banner.set', 'Short'],
        ['banner.set', HOSTILE],
      ],
    )
  })

  test('is that of another process within a second', async () => {
    const { banners } = await api.operator()
    await banners.set(COMMAND_LINE, { text: 'From the command line' })
    await waitFor(async () => (await received())?.text === 'From the command line')
    await banners.clear(COMMAND_LINE)
    await waitFor(async () => (await received()) === undefined)
  })

  test('is refused unless it is a line of text with a link and times that can be shown', async () => {
    const cases: [field: string, wrong: Partial<BannerRequest>][] = [
      ['text', { text: ' ' }],
      ['text', { text: 'x'.repeat(301) }],
      ['text', { text: 'two\nlines' }],
      ['text', { text: 'reversed \u202e text' }],
      ['level', { level: 'urgent' as 'info' }],
      ['link', { link: 'javascript:alert(1)' }],
      ['link', { link: 'https://user:password@example.com' }],
      ['from', { from: 'tomorrow' }],
      ['until', { until: at(-1) }],
      ['until', { from: at(2 * HOUR_MS), until: at(HOUR_MS) }],
    ]
    for (const [field, wrong] of cases) assertInvalid(await admin('PUT', { text: 'x', ...wrong }), field)
    assert.deepEqual((await admin('PUT', { text: '€'.repeat(300) })).status, 200)
    assert.equal((await shown())?.text.length, 300)
  })
})
