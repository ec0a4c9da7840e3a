/** The pages of an ordered list: `read` returns some of the items after the one that it is given. */
export async function* listPages(read: (after: string) => Promise<string[]>): AsyncGenerator<string[]> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: string[] = await read(after)
    after = page.at(-1)
    if (after !== undefined) yield page
  }
}
