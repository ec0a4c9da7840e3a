import { after } from 'node:test'

// The last file of a test group, without tests. Its hook is the last one.
export const ended = Promise.withResolvers<void>()
after(() => ended.resolve())
