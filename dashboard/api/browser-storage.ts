/** Local storage; nothing where the browser blocks it. */
export const browser = createSafeStorage(() => localStorage)

/** Session storage of this tab. */
export const tab = createSafeStorage(() => sessionStorage)

interface SafeStorage {
  read(name: string): string | null
  write(name: string, value: string | null): void
}

function createSafeStorage(find: () => Storage): SafeStorage {
  return {
    read: (name) => attempt(() => find().getItem(name)) ?? null,
    write: (name, value) =>
      void attempt(() => (value === null ? find().removeItem(name) : find().setItem(name, value))),
  }
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
