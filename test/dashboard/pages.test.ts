import { after, before, describe, test } from 'node:test'
import { PHONE } from '../visitor.ts'
import { requiresBrowser, WebFixture } from './web-fixture.ts'

let web: WebFixture

before(async () => {
  web = await WebFixture.open()
})

after(() => web?.[Symbol.asyncDispose]())

describe('every page', requiresBrowser, () => {
  test('is accessible in all viewports and color schemes without sign-in', async () => {
    await using visitor = await web.visitor({ viewport: PHONE })
    for (const path of ['/', '/sign-in', '/sites', '/domains', '/account']) {
      await visitor.page.goto(web.service.baseUrl + path)
      await visitor.page.locator('h1').waitFor()
      await visitor.assertAccessibleInAllViewports()
    }
    visitor.assertNoComplaints()
    web.assertPolicyKept()
  })

  test('is accessible in all viewports and color schemes when signed in', async () => {
    await using owner = await web.owner({ viewport: PHONE })
    const { visitor } = owner
    for (const path of ['/', '/sites', '/domains', '/account']) {
      await visitor.page.goto(web.service.baseUrl + path)
      await visitor.page.locator('h1').waitFor()
      await visitor.assertAccessibleInAllViewports()
    }
    visitor.assertNoComplaints()
    web.assertPolicyKept()
  })
})
