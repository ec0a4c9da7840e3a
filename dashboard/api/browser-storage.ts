/** What this browser remembers between visits; nothing, where it keeps storage from pages. */
export const browser = guarded(() => localStorage)

/** What this tab remembers until it is closed. */
export const tab = guarded(() => sessionStorage)

interface Remembering {
  read(name: string): string | null
  write(name: string, value: string | null): void
}

function guarded(find: () => Storage): Remembering {
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
