import { after, afterEach, before } from 'node:test'
import { Disk } from './file-drop.ts'
import { WebFixture } from './web-fixture.ts'

/** The service and the browser of all test files of the process, which have accounts of their own. */
export const web = new WebFixture()

/** The folder with the files to drop. */
export const disk = new Disk()

before(() => web.start({ REPORT_EMAIL: 'abuse@example.test' }))
afterEach(() => web.endTest())
after(async () => {
  disk[Symbol.dispose]()
  await web[Symbol.asyncDispose]()
})
