import { after, afterEach, before, beforeEach } from 'node:test'

/** A fixture that is started before the tests of the suite around it, and disposed after them. */
export function startForAllTests<T extends AsyncDisposable>(start: () => Promise<T>): T {
  return startBetween(before, after, start)
}

/** A fixture that is started before each test of the suite around it, and disposed after it. */
export function startForEachTest<T extends AsyncDisposable>(start: () => Promise<T>): T {
  return startBetween(beforeEach, afterEach, start)
}

/** Tests are declared before the fixture is there: they get an object that stands for it. */
function startBetween<T extends AsyncDisposable>(
  begin: typeof before,
  end: typeof after,
  start: () => Promise<T>,
): T {
  let started: T | undefined
  begin(async () => {
    started = await start()
  })
  end(() => started?.[Symbol.asyncDispose]())
  return new Proxy({} as T, {
    get(_, name) {
      const value: unknown = Reflect.get(started!, name)
      return typeof value === 'function' ? value.bind(started) : value
    },
    set: (_, name, value) => Reflect.set(started!, name, value),
  })
}
