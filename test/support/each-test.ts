import { afterEach, beforeEach } from 'node:test'

/** A fixture that is started before each test of the suite around it and disposed after it. Only its own properties are copied. */
export function startForEachTest<T extends AsyncDisposable>(start: () => Promise<T>): T {
  const fixture = {} as T
  beforeEach(async () => {
    Object.assign(fixture, await start())
  })
  afterEach(() => fixture[Symbol.asyncDispose]())
  return fixture
}
