import { after, before, describe, test } from 'node:test'
import { PHONE } from '../visitor.ts'
import { inBrowser, Web } from './person.ts'

let web: Web

before(async () => {
  web = await Web.open()
})

after(() => web?.[Symbol.asyncDispose]())

describe('every page', inBrowser, () => {
  test('can be read by everyone who is not signed in', async () => {
    await using visitor = await web.visitor({ viewport: PHONE })
    for (const path of ['/', '/sign-in', '/sites', '/domains', '/account']) {
      await visitor.page.goto(web.service.baseUrl + path)
      await visitor.page.locator('h1').waitFor()
      await visitor.assertAccessibleInAllViewports()
    }
    visitor.assertNoComplaints()
    web.assertPolicyKept()
  })

  test('can be read by everyone who is signed in', async () => {
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
