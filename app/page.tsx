export default function Home() {
  return <main>Onceover</main>
}
