// The server of `npm start` asks for this before it says that it is ready.
export const GET = (): Response => new Response()
