// Sends the request of the JSON in argv[2] as often as it says, and prints the statuses as JSON.

const { url, method, headers, bytes, rounds } = JSON.parse(process.argv[2] ?? '')
const body = new Uint8Array(bytes)
const found = []
for (let round = 0; round < rounds; round++) {
  try {
    const response = await fetch(url, { method, headers, body })
    await response.arrayBuffer()
    found.push(response.status)
  } catch (error) {
    const { message, cause } = /** @type {Error} */ (error)
    found.push(`${message}: ${cause}`)
  }
}
console.log(JSON.stringify(found))
