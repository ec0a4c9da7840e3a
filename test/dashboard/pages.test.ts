import { after, before, describe, test } from 'node:test'
import { LOOKS } from '../visitor.ts'
import { inBrowser, Web } from './person.ts'

let web: Web

before(async () => {
  web = await Web.open()
})

after(() => web[Symbol.asyncDispose]())

describe('every page', inBrowser, () => {
  for (const { name, options } of LOOKS) {
    test(`can be read by everyone who is not signed in, ${name}`, async () => {
      await using visitor = await web.visitor(options)
      for (const path of ['/', '/sign-in', '/sites', '/domains', '/account']) {
        await visitor.page.goto(web.service.baseUrl + path)
        await visitor.page.locator('h1').waitFor()
        await visitor.assertAccessible()
      }
      visitor.assertNoComplaints()
      web.assertPolicyKept()
    })

    test(`can be read by everyone who is signed in, ${name}`, async () => {
      await using owner = await web.owner(options)
      const { visitor } = owner
      for (const path of ['/', '/sites', '/domains', '/account']) {
        await visitor.page.goto(web.service.baseUrl + path)
        await visitor.page.locator('h1').waitFor()
        await visitor.assertAccessible()
      }
      visitor.assertNoComplaints()
      web.assertPolicyKept()
    })
  }
})
