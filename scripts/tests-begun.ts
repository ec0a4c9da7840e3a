import { after } from 'node:test'
import { endOfTests } from './end-of-tests.ts'

// The first file of a test group, without tests. Its hook runs before those that end what the other files have started.
after(() => endOfTests.reached())
