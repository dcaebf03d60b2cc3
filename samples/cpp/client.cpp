// Runs an artifact of jit_runtime without Python:
//
//   client NET.pt INPUTS.pt OUTPUTS.pt [METHOD]
//
// INPUTS.pt holds the positional inputs, as torch.save((x, ...), "INPUTS.pt") writes them. OUTPUTS.pt
// gets a tuple of the tensors in what the method returns, for torch.load.

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/cuda.h>
#include <torch/script.h>
#include <torch/serialize.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using Plan = std::map<std::string, std::string>;

// Beside the plan in JSON an artifact holds it as lines of key=value, among its extra files. It is
// read before the module, whose constants are moved to another device only while they are loaded.
Plan read_plan(const std::string& artifact) {
  const std::string record = "extra/jit_runtime/plan.txt";
  caffe2::serialize::PyTorchStreamReader archive(artifact);
  std::string text = "device=cpu\nfusion=none\nmemory_format=contiguous\nthreads=\ntf32=0\n"
                     "cudnn_benchmark=0\n";  // what holds of any other TorchScript file
  if (archive.hasRecord(record)) {
    const auto [bytes, size] = archive.getRecord(record);
    text.append(static_cast<const char*>(bytes.get()), size);
  }
  Plan plan;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (equals != std::string::npos) plan[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return plan;
}

// The switches are torch's own, and hold for the whole process.
void apply(const Plan& plan) {
  if (!plan.at("threads").empty()) at::set_num_threads(std::stoi(plan.at("threads")));
  const bool tf32 = plan.at("tf32") == "1";
  at::globalContext().setAllowTF32CuBLAS(tf32);
  at::globalContext().setAllowTF32CuDNN(tf32);
  at::globalContext().setBenchmarkCuDNN(plan.at("cudnn_benchmark") == "1");
}

c10::Device device_of(const Plan& plan) {
  const bool wants_cuda = plan.at("device") == "cuda";
  if (wants_cuda && !torch::cuda::is_available()) throw std::runtime_error("there is no CUDA device");
  return wants_cuda ? c10::kCUDA : c10::kCPU;
}

// Tensors within tuples, lists and dicts are left as they are: load them on their device.
c10::IValue placed(const c10::IValue& input, const Plan& plan, c10::Device device) {
  if (!input.isTensor()) return input;
  at::Tensor tensor = input.toTensor().to(device);
  const bool is_image = tensor.dim() == 4 && plan.at("memory_format") == "channels_last";
  return is_image ? tensor.contiguous(at::MemoryFormat::ChannelsLast) : tensor;
}

std::vector<c10::IValue> read_inputs(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  return torch::pickle_load(bytes).toTupleRef().elements().vec();
}

// In a file, lists and dicts would carry types of TorchScript, which torch.load takes for code.
void collect(const c10::IValue& value, std::vector<c10::IValue>& tensors) {
  if (value.isTensor()) tensors.push_back(value.toTensor().cpu());
  if (value.isTuple())
    for (const auto& item : value.toTupleRef().elements()) collect(item, tensors);
  if (value.isList())
    for (const c10::IValue item : value.toListRef()) collect(item, tensors);
  if (value.isGenericDict())
    for (const auto& item : value.toGenericDict()) collect(item.value(), tensors);
}

void write_tensors(const std::vector<c10::IValue>& tensors, const std::string& path) {
  const std::vector<char> bytes = torch::pickle_save(c10::ivalue::Tuple::create(tensors));
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void run(const std::string& artifact, const std::string& in, const std::string& out,
         const std::string& method) {
  const Plan plan = read_plan(artifact);
  apply(plan);
  const c10::Device device = device_of(plan);
  torch::jit::Module module = torch::jit::load(artifact, device);

  std::vector<c10::IValue> inputs;
  for (const auto& input : read_inputs(in)) inputs.push_back(placed(input, plan, device));
  c10::InferenceMode without_gradients;
  const auto function = module.get_method(method);
  c10::IValue outputs;
  for (int call = 1; call <= 4; ++call) {  // the executor optimises in the second and third
    const auto start = std::chrono::steady_clock::now();
    outputs = function(inputs);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    std::cout << "call " << call << ": " << taken.count() << " ms\n";
  }
  std::cout << method << " on " << device << ", " << at::get_num_threads() << " threads, "
            << plan.at("memory_format") << ", fusion " << plan.at("fusion") << "\n";
  std::vector<c10::IValue> tensors;
  collect(outputs, tensors);
  for (const auto& tensor : tensors) std::cout << "output " << tensor.toTensor().sizes() << "\n";
  write_tensors(tensors, out);
}

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5) {
    std::cerr << "usage: client NET.pt INPUTS.pt OUTPUTS.pt [METHOD]\n";
    return 2;
  }
  try {
    run(argv[1], argv[2], argv[3], argc == 5 ? argv[4] : "forward");
  } catch (const c10::Error& error) {
    std::cerr << error.what_without_backtrace() << "\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
